# shellcheck shell=bash
# The stages end-to-end, long, swarm and machines of scripts/test.sh. Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/engine.sh"

test_end_to_end() { test_folder "$root/tests/end_to_end"; }

test_long() { test_folder "$root/tests/long"; }

# test_folder FOLDER: bats runs on this host, where Docker is; its files come out of the tests' image. Four files at a time, each
# on its quarter of the network: they mostly wait.
test_folder() {
	local folder=$1 bats passed files
	bats=$(mktemp -d)
	take_bats "$bats"
	test_files 198.18.0.0/26 &
	test_files 198.18.0.64/26 &
	test_files 198.18.0.128/26 &
	test_files 198.18.0.192/26 &
	wait
	test_once_more
	files=("$folder"/*.bats)
	mapfile -t passed < <(compgen -G "$bats/*/passed")
	# One stream of TAP, whose plan may be its last line.
	cat "$bats"/*.tap | awk '/^1\.\.[0-9]+$/ { next } /^(not )?ok [0-9]/ { sub(/[0-9]+/, ++n) } { print } END { print "1.." n }'
	rm -rf "$bats"
	((${#passed[@]} == ${#files[@]}))
}

take_bats() {
	local container
	mkdir -p "$1"/{bin,lib,libexec}
	container=$("$docker" create bench/tests)
	"$docker" cp --quiet "$container:/usr/bin/bats" "$1/bin/"
	"$docker" cp --quiet "$container:/usr/lib/bats-core" "$1/lib/"
	"$docker" cp --quiet "$container:/usr/libexec/bats-core" "$1/libexec/"
	"$docker" rm "$container" >/dev/null
}

test_swarm() { test_nodes "$root"/tests/swarm/1*.bats; }

test_machines() { test_nodes "$root"/tests/swarm/[2-9]*.bats; }

# test_nodes FILE...: nodes of their own on this machine, for which they need root; one file after the other.
test_nodes() {
	local bats status=0
	((EUID == 0)) || { echo "not ok - this stage starts Docker daemons in networks of their own: run it as root" && return 1; }
	bats=$(mktemp -d)
	take_bats "$bats"
	"$bats/bin/bats" --tap --timing "$@" || status=$?
	rm -rf "$bats"
	return "$status"
}

# test_files SUBNET: one test file after the other that nobody has taken; from the last, which takes longest. Those named alone-*
# come when the others have ended.
test_files() {
	local files i name
	files=("$folder"/*.bats)
	for ((i = ${#files[@]} - 1; i >= 0; i--)); do
		name=${files[i]##*/}
		[[ $name != alone-* ]] || continue
		mkdir "$bats/$name" 2>/dev/null || continue
		test_file "$name" "$1"
	done
}

# test_file NAME SUBNET: its TAP into $bats/NAME.tap; $bats/NAME/passed is there only when all its tests passed.
test_file() {
	local began=$SECONDS status=0
	BENCH_SUBNET=$2 "$bats/bin/bats" --tap --timing "$folder/$1" >"$bats/$1.tap" 2>&1 || status=$?
	((status != 0)) || touch "$bats/$1/passed"
	echo "# file $1: $((SECONDS - began)) s" >>"$bats/$1.tap"
}

# test_once_more: alone, each file that did not pass: beside three others it may have failed for want of time. One that
# passes alone is named as flaky, with what failed beside the others.
test_once_more() {
	local file name first
	for file in "$folder"/*.bats; do
		name=${file##*/}
		[[ ! -e $bats/$name/passed ]] || continue
		mkdir -p "$bats/$name"
		if [[ $name == alone-* ]]; then
			test_file "$name" 198.18.0.0/26
			continue
		fi
		# With the line that failed, and what it said first: it may not happen again for long.
		first=$(awk '/^(not )?ok / { left = /^not/ ? 30 : 0 } left-- > 0 { print "# beside other files: " $0 }' "$bats/$name.tap") ||
			first="# beside other files: $name was not run"
		test_file "$name" 198.18.0.0/26
		printf '%s\n' "$first" >>"$bats/$name.tap"
		[[ ! -e $bats/$name/passed ]] || echo "# flaky: $name (failed beside others, passed alone)" >>"$bats/$name.tap"
	done
}
