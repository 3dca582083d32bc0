# shellcheck shell=bash
# The stages end-to-end, long, swarm and machines of scripts/test.sh. Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/engine.sh"

# Of each file of tests that bats runs, in seconds; a few take 6 minutes beside others. Not bats' own BATS_TEST_TIMEOUT: the countdown
# of a test that ends within milliseconds can miss the signal that stops it, and then holds the file's output open until it has
# elapsed.
file_limit=1200

test_end_to_end() { test_folder "$root/tests/end_to_end"; }

test_long() { file_limit=5400 test_folder "$root/tests/long"; }

# test_folder FOLDER: runs its files with bats on this host, where Docker is; bats itself is copied from the tests' image. Four files
# run in parallel, each on its own quarter of the subnet, because they mostly wait.
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
	# Join them to one TAP stream; its plan may come last.
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

# test_nodes FILE...: runs files that start their own nodes on this machine, which needs root; one after the other.
test_nodes() {
	local bats status=0
	((EUID == 0)) || { echo "not ok - this stage starts Docker daemons in networks of their own: run it as root" && return 1; }
	bats=$(mktemp -d)
	take_bats "$bats"
	"$bats/bin/bats" --tap --timing "$@" || status=$?
	rm -rf "$bats"
	return "$status"
}

# test_files SUBNET: runs test files that no other call has taken, from the last one, which takes longest. Files named alone-* run
# after all others.
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

# test_file NAME SUBNET: writes TAP to $bats/NAME.tap; $bats/NAME/passed exists only if all its tests passed.
test_file() {
	local began=$SECONDS status=0
	BENCH_SUBNET=$2 python3 "$root/tests/support/within.py" "$file_limit" "$1" "$bats/bin/bats" --tap --timing "$folder/$1" >"$bats/$1.tap" 2>&1 || status=$?
	((status != 0)) || touch "$bats/$1/passed"
	echo "# file $1: $((SECONDS - began)) s" >>"$bats/$1.tap"
}

# test_once_more: runs each failed file again, alone, because it may have timed out beside three others. A file that passes now is
# reported as flaky, with what failed before.
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
		# Keep the failed test and the start of its output, because it may be hard to reproduce.
		first=$(awk '/^(not )?ok / { left = /^not/ ? 30 : 0 } left-- > 0 { print "# beside other files: " $0 }' "$bats/$name.tap") ||
			first="# beside other files: $name was not run"
		test_file "$name" 198.18.0.0/26
		printf '%s\n' "$first" >>"$bats/$name.tap"
		[[ ! -e $bats/$name/passed ]] || echo "# flaky: $name (failed beside others, passed alone)" >>"$bats/$name.tap"
	done
}
