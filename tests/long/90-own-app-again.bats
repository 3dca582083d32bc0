#!/usr/bin/env bats
# The example with FastAPI is measured, and such a run can be repeated as long as its folder is there.
# shellcheck disable=SC2154 # own_app.bash sets what is used here

load ../end_to_end/common
load ../end_to_end/own_app

APPS=app-fastapi

@test "the same shop with FastAPI, where an upload and an order count as right" {
	scripts/matrix.sh --app "$shop/fastapi" main:app --targets "$shop/targets.txt" --compose "$shop/compose.yml" --env-file "$shop/shop.env" \
		--before 'python3 seed.py' --server uvicorn,granian-asgi --rounds 1 --controls none
	local run
	run=$(the_run)
	grep -q 'POST /pictures' "$run/app/answers.json"
	[[ $(count '"goodput": *[1-9]' "$run/records.jsonl") == 2 ]]
	# Again: with the same options and locks, as long as the folder is there.
	run -0 scripts/matrix.sh --again "${run##*/}" --list
	echo "$output"
	[[ $output == *"repeats ${run##*/}: "*', in the same order'* || $output == *'; no known differences'* ]]
	[[ $output != *'resolving what the app needs'* && $output == *'table in turns: mix  wrk  c16  2 services'* ]]
	mv "$shop/fastapi" "$shop/away"
	refused "there is no folder '$shop/fastapi'" scripts/matrix.sh --again "${run##*/}" --list
	mv "$shop/away" "$shop/fastapi"
}
