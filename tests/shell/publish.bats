#!/usr/bin/env bats
# What scripts/publish.sh and scripts/branches.sh create, and what remains if they fail. No network, no container.

bats_require_minimum_version 1.5.0

load project

setup() {
	copy_project "$BATS_TEST_TMPDIR/project"
	cd "$BATS_TEST_TMPDIR/project" || return
	# The tests' image has no xz.
	mkdir "$BATS_TEST_TMPDIR/bin"
	printf '%s\n' '#!/usr/bin/env python3' 'import lzma, sys' 'sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read()))' \
		>"$BATS_TEST_TMPDIR/bin/xz"
	chmod +x "$BATS_TEST_TMPDIR/bin/xz"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
}

# make_run NAME: creates a folder with all files of a run, which was not measured.
make_run() {
	mkdir -p "results/$1/raw/r01"
	local name
	for name in run.json report.md index.html records.jsonl plan.jsonl services.yml knobs.env sources.json compose.yml raw/r01/tool.json; do
		echo "$name" >"results/$1/$name"
	done
	echo '{}' >"results/$1/run.json"
}

@test "a published run has an archive, and the files that people read, made from it" {
	make_run one
	run -0 --separate-stderr scripts/publish.sh one first
	# shellcheck disable=SC2154 # bats sets it
	[[ -z $output && $stderr == "$PWD/results/published/first" ]]
	made=$'answers.json\nindex.html\nraw.tar.xz\nrecords.sha256\nreport.md\nrun.json\nverdicts.jsonl'
	[[ $(ls -A results/published) == first && $(ls -A results/published/first) == "$made" ]]
	[[ $(stat -c %a results/published/first) == 755 ]]
	(cd results/.published/first && sha256sum --check --quiet "$OLDPWD/results/published/first/records.sha256")
	cmp results/.published/first/index.html results/published/first/index.html
	run -0 python3 -c 'import sys, tarfile; print(*tarfile.open(sys.argv[1]).getnames(), sep="\n")' results/published/first/raw.tar.xz
	[[ $output == $'raw\nraw/r01\nraw/r01/tool.json\nplan.jsonl\nservices.yml\nknobs.env\nsources.json' ]]
	# Given by its path, the archive is the same byte for byte.
	scripts/publish.sh results/one second
	cmp results/published/first/raw.tar.xz results/published/second/raw.tar.xz
}

@test "what is made from an archive is made again, and the archive stays" {
	make_run one
	scripts/publish.sh one first
	local before
	before=$(sha256sum results/published/first/*)
	rm results/published/first/{index.html,report.md}
	echo old >results/published/first/records.sha256
	run -0 scripts/publish.sh --rebuild first
	[[ -z $output && $(sha256sum results/published/first/*) == "$before" ]]
	run -2 scripts/publish.sh --rebuild fisrt
	[[ ${#lines[@]} == 1 && $output == *"unknown published run 'fisrt'"* ]]
}

@test "a run whose report cannot be made from its archive is not published" {
	make_run one
	echo '{"schema": 99}' >results/one/run.json
	run -2 scripts/publish.sh one first
	[[ ${lines[0]} == *'first/run.json is of schema 99, this version reads 1: '* && -z $(ls -A results/published) ]]
}

@test "request logs are unchanged, and not compressed twice" {
	make_run one
	seq 100000 | gzip >results/one/raw/r01/requests.tsv.gz
	touch --date=@1000000000 results/one/raw/r01/requests.tsv.gz
	scripts/publish.sh one logs
	mkdir unpacked
	python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall("unpacked", filter="data")' results/published/logs/raw.tar.xz
	cmp <(seq 100000) <(zcat unpacked/raw/r01/requests.tsv.gz)
	[[ $(stat -c '%Y %s' unpacked/raw/r01/requests.tsv.gz) =~ ^1000000000\ 58[0-9]{4}$ ]]
	cmp <(seq 100000) <(zcat results/one/raw/r01/requests.tsv.gz)
}

@test "a log that never ends is not unpacked, and no module of the folder that this is called in is imported" {
	make_run one
	head -c 65M /dev/zero | gzip >results/one/raw/r01/requests.tsv.gz
	mkdir elsewhere
	echo "open('ran', 'w')" >elsewhere/gzip.py
	cd elsewhere || return
	run -1 ../scripts/publish.sh one first
	[[ $output == *'requests.tsv.gz unpacks to more than 64 MiB'* && ! -e ran && ! -e ../results/published/first ]]
}

@test "the path of an app inside this project is published relative to the project" {
	make_run one
	printf '%s\n' '"options": [' "\"$PWD/examples/shop\"," "\"main:app\"" '],' "\"project\": \"$PWD\"" >results/one/run.json
	scripts/publish.sh one app
	[[ $(<results/published/app/run.json) == $'"options": [\n"examples/shop",\n"main:app"\n],\n"project": ""' ]]
}

@test "the kinds of nodes are published, but not how to reach them" {
	make_run one
	printf '%s\n' $'server\tone\tssh://root@one\t198.51.100.1\t2 CPUs' >results/one/nodes-ever.tsv
	scripts/publish.sh one nodes
	[[ $(<results/published/nodes/nodes-ever.tsv) == $'server\tone\t-\t-\t2 CPUs' ]]
	run -0 python3 -c 'import sys, tarfile; print(*tarfile.open(sys.argv[1]).getnames(), sep="\n")' results/published/nodes/raw.tar.xz
	[[ $output != *nodes-ever* ]]
}

@test "an incomplete run, or one with a name that is taken, is not published" {
	make_run one
	run -2 scripts/publish.sh nope first
	[[ $output == "publish.sh: 'nope' is not a run with a report: build one with scripts/report.sh" ]]
	run -2 scripts/publish.sh one ../first
	[[ $output == "publish.sh: name '../first' is not lower-case letters, digits and '-'" ]]
	[[ ! -e results/published ]]
	scripts/publish.sh one first
	run -2 scripts/publish.sh one first
	[[ $output == *"/results/published/first exists already: remove it, or choose another name" ]]
	rm results/one/plan.jsonl
	run -1 scripts/publish.sh one second
	[[ ${lines[-1]} == 'publish.sh: the raw files cannot be packed; the lines above say why' ]]
	[[ $(ls -A results/published) == first ]]
}

@test "the branches differ in one line; an uncommitted change stays where it is" {
	git init --quiet --initial-branch main && git add .env scripts && git commit --quiet --message all
	echo '# mine' >>.env
	run -0 scripts/branches.sh
	[[ $(git diff --numstat sync gevent) == $'1\t1\t.env' ]]
	[[ $(git show gevent:.env | grep '^WORKER_CLASS=') == WORKER_CLASS=gevent && $(git show sync:.env | grep '^WORKER_CLASS=') == WORKER_CLASS=sync ]]
	[[ $(git branch --show-current) == main && $(git diff -U0 | sed -n '/^[-+][^-+]/p') == '+# mine' ]]
	[[ $(git worktree list | wc -l) == 1 ]]
	local before
	before=$(git rev-parse sync gevent)
	run -0 scripts/branches.sh
	[[ $output == $'branch sync exists already\nbranch gevent exists already' && $(git rev-parse sync gevent) == "$before" ]]
}

@test "if the commit fails, no branch and no work tree is left" {
	run -2 scripts/branches.sh
	[[ $output == 'branches.sh: this folder is not a git clone with a commit: git clone the project first' ]]
	git init --quiet --initial-branch main && git add .env scripts && git commit --quiet --message all
	printf '#!/bin/sh\necho refused >&2\nexit 1\n' >.git/hooks/pre-commit
	chmod +x .git/hooks/pre-commit
	run -1 scripts/branches.sh
	[[ $output == *refused*"'git -C "*"ended with status 1 at scripts/branches.sh:"* ]]
	run -1 git rev-parse --verify --quiet gevent
	[[ $(git worktree list | wc -l) == 1 ]]
}
