#!/usr/bin/env bats
# Adding a framework and a server with scaffold.sh, in a copy of the project: the steps that it prints lock, verify and measure
# them, and removing their folders leaves no trace.

load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	git init --quiet
	git add --all
	git -c user.name=t -c user.email=t@example.org commit --quiet --message all
	cp -r services "$BATS_FILE_TMPDIR/before"
	{
		scripts/scaffold.sh framework newcomer wsgi
		scripts/scaffold.sh server starter wsgi
		scripts/lock.sh newcomer starter
		scripts/generate.sh
	} >"$BATS_FILE_TMPDIR/log" 2>&1 || { cat "$BATS_FILE_TMPDIR/log" && false; }
}

setup() { cd "$BATS_FILE_TMPDIR/project" || return; }

teardown_file() { remove_images '^bench/(.*-newcomer|starter)-'; }

@test "only two folders, their locks and generated files have changed" {
	local changed
	changed=$(git status --porcelain --untracked-files=all | cut -c4- | grep -v '^services/\(frameworks/newcomer\|servers/starter\|locks/py[a-z0-9]*/\(framework-newcomer\|server-starter\).txt\)')
	echo "$changed"
	[[ $(sort <<<"$changed") == $'docs/catalogue.md\nservices/compose.yml' ]]
}

@test "both pass the contract, together and with existing ones" {
	run scripts/verify.sh --quiet starter-newcomer-py313-debian gunicorn-sync-newcomer-py313-debian starter-wsgi-py313-debian
	echo "$output"
	[[ $status == 0 && $output == *'services: 3 passed, 0 failed'* ]]
	rm -r results/*-contract
}

@test "both are measured" {
	scripts/matrix.sh --stack starter-newcomer,gunicorn-sync-newcomer --python 3.13 --scenario json --tool wrk --level 8 --rounds 1 --controls none
	[[ $(count '"goodput": *[1-9]' "$(the_run)/records.jsonl") == 2 ]]
	grep -q 'starter-newcomer-py313-debian' "$(the_run)/report.md"
}

@test "removing their folders restores the original state" {
	rm -r services/frameworks/newcomer services/servers/starter services/locks/py*/{framework-newcomer,server-starter}.txt
	scripts/generate.sh
	diff -r --exclude __pycache__ "$BATS_FILE_TMPDIR/before" services
}
