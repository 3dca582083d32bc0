#!/usr/bin/env bats
# What scripts/clean.sh takes for ours, with an engine that only pretends.
# shellcheck disable=SC2317 # what the script calls

setup() {
	# shellcheck source=scripts/lib/clean.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/clean.sh"
	root=$BATS_TEST_TMPDIR/clone
	mkdir -p "$root"/{results,services} && touch "$root/services/matrix.toml"
	docker=engine
	cd "$BATS_TEST_TMPDIR" || return
	touch containers tools networks volumes images
}

# engine: answers from files; what is asked for with a label, from those lines that end with it.
engine() {
	echo "$*" >>asked
	case $* in
	ps*label=bench.run) cat tools ;;
	ps*) cat containers ;;
	network*ls*) cat networks ;;
	volume*ls*) cat volumes ;;
	inspect*) sed -n "s/^$4 [a-z]* [^ ]* //p" containers ;;
	system*--verbose*) sed 's/ #.*//' images ;;
	system*) printf 'Images 9GB\nBuild Cache 3.5GB\n' ;;
	image*ls*) labelled "$@" ;;
	info*) echo "$BATS_TEST_TMPDIR" ;;
	esac
}

labelled() {
	local line option fits
	while read -r line; do
		fits=1
		for option; do [[ $option != --filter=label=* || "${line#*#} " == *" ${option#--filter=label=} "* ]] || fits=''; done
		[[ ! $fits ]] || echo "${line%% *}"
	done <images
}

run_name=bench-20260101-120000-quick-4711

@test "a run's containers and network are ours, and anybody else's of a similar name are not" {
	cat >containers <<-END
		1 exited $run_name $root/results/20260101-120000-quick
		2 exited bench-press /home/someone/bench-press
		3 exited bench /home/someone/bench
		4 exited bench $root
		5 exited bench-20260101-120000-quick /home/someone/x
	END
	printf '6 exited\n' >tools
	printf '%s\n' "7 $run_name" '8 bench' '9 bench yes' '10 bench-press' >networks
	printf '%s\n' "data $run_name" 'theirs bench' >volumes
	find_left_of_runs
	[[ ${containers[*]} == '1 4 6' && ${networks[*]} == '7 9' && ${volumes[*]} == data && ${#under_way[@]} == 0 ]]
}

@test "nothing of a run under way is removed, and one that nobody measures any more is none" {
	mkdir -p "$root/results/"{live,dead}
	touch "$root/results/"{live,dead}/.writer
	exec 7<>"$root/results/live/.writer"
	flock 7
	cat >containers <<-END
		1 running $run_name $root/results/live
		2 exited $run_name $root/results/live
		3 running bench-20260101-120000-quick-99 $root/results/dead
		5 running bench-20260101-120000-quick-98 $root/results/removed
	END
	printf '%s\n' "7 $run_name" '8 bench-20260101-120000-quick-99' >networks
	printf '4 running\n' >tools
	find_left_of_runs
	[[ ${containers[*]} == '3 5' && ${networks[*]} == 8 ]]
	[[ " ${under_way[*]} " == *" $run_name "* && " ${under_way[*]} " == *' container 4 '* && ${#under_way[@]} == 2 ]]
}

# kinds: of all in `images`, NAME KIND a line, sorted.
kinds() {
	local kind
	for kind in "${!images[@]}"; do sed -n "s/^\([^ ]\+\) .*/\1 $kind/p" <<<"${images[$kind]}"; done | sort
}

@test "an image is ours by its label, and by its name where it has one" {
	cat >images <<-'END'
		sha256:1 bench/uvicorn-asgi-py313-debian:latest 1.5MB 2026-01-01 10:00:00 +0000 UTC # bench.image
		sha256:2 <none>:<none> 2MB 2026-01-01 10:00:00 +0000 UTC # bench.image
		sha256:3 <none>:<none> 2MB 2026-01-01 10:00:00 +0000 UTC # com.docker.compose.project
		sha256:4 shop/api:latest 2MB 2026-01-01 10:00:00 +0000 UTC # bench.image bench.base.made
		sha256:5 bench/api:latest 2MB 2026-01-01 10:00:00 +0000 UTC # com.docker.compose.project=bench com.docker.compose.project
		sha256:6 bench/loadgen:latest 2MB 2026-01-01 10:00:00 +0000 UTC # bench.source
		sha256:7 bench-python:3.13-slim 2MB 2026-01-01 10:00:00 +0000 UTC # bench.base.made
		sha256:8 bench-python:3.12-slim 2MB 2026-01-01 10:00:00 +0000 UTC #
		sha256:9 bench-20260101-120000-app-1-own-db:latest 2MB 2026-01-01 10:00:00 +0000 UTC # com.docker.compose.project
		sha256:a <none>:<none> 2MB 2026-01-01 10:00:00 +0000 UTC # bench.base.made
		sha256:b <none>:<none> 2MB 2026-01-01 10:00:00 +0000 UTC # bench.base.made com.docker.compose.project=bench
		sha256:c bench/flask:latest 2MB 2099-01-01 10:00:00 +0000 UTC # bench.image
	END
	find_images 0
	run kinds
	diff <(printf '%s\n' "${lines[@]}") <(
		sort <<-'END'
			bench/uvicorn-asgi-py313-debian:latest service
			sha256:2 replaced
			sha256:3 other
			shop/api:latest other
			bench/api:latest other
			bench/loadgen:latest harness
			bench-python:3.13-slim base
			bench-python:3.12-slim other
			bench-20260101-120000-app-1-own-db:latest service
			sha256:a other
			sha256:b replaced
			bench/flask:latest kept
		END
	)
	run count_images words service replaced
	[[ $output == 'words: 4, 7.5 MB that no other image shares' ]]
}

@test "an interrupted run keeps its images, and one with a report does not" {
	mkdir -p "$root"/results/{cut,whole}/raw/services/app
	echo sha256:1 >"$root/results/cut/raw/services/app/image.id"
	echo sha256:2 >"$root/results/whole/raw/services/app/image.id"
	touch "$root/results/whole/report.md"
	cat >images <<-'END'
		sha256:1 <none>:<none> 1kB 2026-01-01 10:00:00 +0000 UTC # bench.image
		sha256:2 <none>:<none> 1kB 2026-01-01 10:00:00 +0000 UTC # bench.image
	END
	find_images 0
	[[ ${images[resumable]} == 'sha256:1 1kB'$'\n' && ${images[replaced]} == 'sha256:2 1kB'$'\n' ]]
}

@test "temporary folders are left once they were not touched for a day; results stay" {
	mkdir -p "$root"/results/{.app-abcdef,.app-fresh1,20260101-120000-quick,.app}
	touch -d '2 days ago' "$root"/results/{.app-abcdef,20260101-120000-quick,.app}
	find_folders
	[[ ${folders[*]} == "$root/results/.app-abcdef" ]]
}

# fake: a program, as xargs starts no functions.
fake() {
	cat >fake <<-'EOS'
		#!/bin/sh
		echo "$*" >>asked
		case $* in
		info*) pwd ;;
		*label=bench.run) ;;
		ps*) echo 1 exited bench-20260101-120000-quick-4711 /x ;;
		esac
	EOS
	chmod +x fake
	docker=$PWD/fake
}

@test "what is removed is what was found, by name where there is one" {
	containers=(1 2) networks=(7) volumes=() folders=("$root/results/.app-a b") trees=()
	mkdir -p "${folders[0]}"
	images[replaced]=$'sha256:2 1kB\n' images[service]=$'bench/x:latest 1kB\n' images[kept]=$'bench/y:latest 1kB\n'
	fake
	run remove_all_left ''
	[[ $status == 0 && $output == "free on the engine's disk: "*' before, '*' now' && ! -e $root/results/.app-a\ b ]]
	diff asked - <<-'END'
		info --format {{.DockerRootDir}}
		rm --force --volumes 1 2
		network rm 7
		image rm sha256:2 bench/x:latest
	END
	remove_all_left 1 >/dev/null
	grep -qx 'builder prune --all --force' asked
}

@test "without --yes nothing is removed" {
	cp -r "$BATS_TEST_DIRNAME/../../scripts" "$root/"
	fake
	BENCH_DOCKER=$docker run "$root/scripts/clean.sh"
	[[ $status == 0 && $output == *'containers of runs that have ended: 1'*'nothing is removed without --yes'* ]]
	run grep -E '(^| )(rm|prune)( |$)' asked
	[[ $status == 1 ]]
	BENCH_DOCKER=$docker run "$root/scripts/clean.sh" --images-older-than many
	[[ $status == 2 && $output == *'--images-older-than takes a number of days'* ]]
}

@test "a size that the engine does not know is said to be unknown" {
	echo 'sha256:1 shop:latest N/A 2026-01-01 10:00:00 +0000 UTC #' >images
	find_images 0
	run count_images words other
	[[ $output == 'words: 1, of unknown size' ]]
}
