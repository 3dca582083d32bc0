#!/usr/bin/env bats
# A run that is repeated, as the scripts hand it to Python.
# shellcheck disable=SC2034,SC2154,SC2317 # what the scripts use and call, what bats sets

bats_require_minimum_version 1.5.0

load project

setup() {
	# shellcheck source=scripts/lib/again.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/again.sh"
	cd "$BATS_TEST_TMPDIR" || return
	docker=engine selection=()
	in_tools() {
		echo "$*" >asked
		cat <<-'END'
			selection=(--server 'gunicorn-*' --seed 1 --again=a-run)
			again_bases=(here gone)
			own_words=(--app '/srv/my shop' main:app --before 'python3 seed.py' --targets /srv/targets)
			was_own=main:app
			again_folder=results/a-run
		END
	}
}

engine() { [[ $* == *' here' ]] && echo sha256:1,sha256:2; }

@test "selection, options for one's own app and base images are taken over, but for what is given" {
	own=([targets]=mine)
	repeat_run a-run --server 'gunicorn-*'
	[[ $(<asked) == 'python3 -m bench again a-run --server gunicorn-*' ]]
	[[ ${selection[*]} == '--server gunicorn-* --seed 1 --again=a-run' && $again_folder == results/a-run ]]
	[[ ${own[folder]} == '/srv/my shop' && ${own[app]} == main:app && ${own[before]} == 'python3 seed.py' && ${own[targets]} == mine ]]
	[[ $bases_here == 'here=sha256:1,sha256:2 ' ]]
}

@test "an own app of a run that did not keep its options needs them again" {
	in_tools() { printf '%s\n' 'selection=()' 'again_bases=()' 'own_words=()' 'was_own=main:app' 'again_folder=results/a-run'; }
	run -2 repeat_run a-run
	[[ $output == *'give --app FOLDER main:app and the others again' ]]
	own=([folder]=/srv/shop [app]=main:app)
	repeat_run a-run
	[[ ${own[folder]} == /srv/shop ]]
}

@test "the lock of an own app is that of the run, as long as the app asks for the same" {
	root=$PWD again_folder=results/a-run own_folder=$PWD/own
	mkdir -p results/a-run/app/{locks/py313,requirements} own/requirements
	echo flask==1 >results/a-run/app/locks/py313/requirements.txt
	echo flask | tee results/a-run/app/requirements/requirements.in >own/requirements/requirements.in
	lock_own_app 'py313 3.13'
	[[ $(<own/locks/py313/requirements.txt) == flask==1 ]]
	get_base() { return 1; }
	run -2 lock_own_app 'py314 3.14'
	echo django >own/requirements/requirements.in
	run -2 lock_own_app 'py313 3.13'
	[[ $output == *'Python 3.13 has no base image here'* ]]
}

@test "matrix.sh repeats a planned run, and says what differs first" {
	copy_project "$BATS_TEST_TMPDIR/project"
	cd "$BATS_TEST_TMPDIR/project" || return
	run=$(BENCH_CONTAINERS=fresh python3 -m bench plan --quiet --stack aiohttp,tornado --scenario json --rounds 6)
	run --separate-stderr scripts/matrix.sh --again "$run" --list
	[[ $status == 0 && ${stderr_lines[0]} == "again $run: "* && $output == *'table in turns: json  wrk  c16  2 services'* ]]
	run --separate-stderr scripts/matrix.sh --again "$run" --stack aiohttp --dry-run
	[[ $status == 0 && $stderr == *'differs: not measured now: tornado-py313-debian'* && $output != *tornado* ]]
	run -2 scripts/matrix.sh --again
	[[ $output == *'--again needs the name of a run' ]]
	run -2 scripts/matrix.sh --again nope
	[[ $output == *"'nope' is not a results folder"* ]]
}
