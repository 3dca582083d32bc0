#!/usr/bin/env bats
# The example with FastAPI is measured, and its run can be repeated as long as the app's folder exists.
# shellcheck disable=SC2154 # set in own_app.bash

load ../end_to_end/common
load ../end_to_end/own_app

APPS=app-fastapi

@test "the same shop with FastAPI: uploads and orders are successful, and the run can be repeated" {
	scripts/matrix.sh --app "$shop/fastapi" main:app --targets "$shop/targets.txt" --compose "$shop/compose.yml" --env-file "$shop/shop.env" \
		--before 'python3 seed.py' --server uvicorn,granian-asgi --rounds 1 --controls none
	local run
	run=$(the_run)
	grep -q 'POST /pictures' "$run/app/answers.json"
	[[ $(count '"goodput": *[1-9]' "$run/records.jsonl") == 2 ]]
	# --again uses the same options and locks, as long as the folder exists.
	run -0 scripts/matrix.sh --again "${run##*/}" --list
	echo "$output"
	[[ $output == *"repeats ${run##*/}: "*', in the same order'* || $output == *'; no known differences'* ]]
	[[ $output != *'resolving what the app needs'* && $output == *'table in turns: mix  wrk  c16  2 services'* ]]
	mv "$shop/fastapi" "$shop/away"
	refused "there is no folder '$shop/fastapi'" scripts/matrix.sh --again "${run##*/}" --list
	mv "$shop/away" "$shop/fastapi"
}
