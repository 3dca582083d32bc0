# shellcheck shell=bash
# The stage end-to-end of scripts/test.sh. Only declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"

# bats runs on this host, where Docker is; its files come out of the tests' image. Four files at a time, each on its
# quarter of the network: what they test is mostly waited for.
test_end_to_end() {
	local bats container status
	bats=$(mktemp -d)
	mkdir -p "$bats"/{bin,lib,libexec}
	container=$("$docker" create bench/tests)
	"$docker" cp --quiet "$container:/usr/bin/bats" "$bats/bin/"
	"$docker" cp --quiet "$container:/usr/lib/bats-core" "$bats/lib/"
	"$docker" cp --quiet "$container:/usr/libexec/bats-core" "$bats/libexec/"
	"$docker" rm "$container" >/dev/null
	test_files 198.18.0.0/26 &
	test_files 198.18.0.64/26 &
	test_files 198.18.0.128/26 &
	test_files 198.18.0.192/26 &
	wait
	test_once_more && status=0 || status=1
	# One stream of TAP, whose plan may be its last line.
	cat "$bats"/*.tap | awk '/^1\.\.[0-9]+$/ { next } /^(not )?ok [0-9]/ { sub(/[0-9]+/, ++n) } { print } END { print "1.." n }'
	rm -rf "$bats"
	return "$status"
}

# test_files SUBNET: one test file after the other that nobody has taken; from the last, which takes longest.
test_files() {
	local files i name
	files=("$root"/tests/end_to_end/*.bats)
	for ((i = ${#files[@]} - 1; i >= 0; i--)); do
		name=${files[i]##*/}
		mkdir "$bats/$name" 2>/dev/null || continue
		test_file "$name" "$1" || touch "$bats/$name/failed"
	done
}

# test_file NAME SUBNET: its TAP into $bats/NAME.tap; fails when a test does.
test_file() {
	local began=$SECONDS status=0
	BENCH_SUBNET=$2 "$bats/bin/bats" --tap --timing "$root/tests/end_to_end/$1" >"$bats/$1.tap" 2>&1 || status=1
	echo "# file $1: $((SECONDS - began)) s" >>"$bats/$1.tap"
	return "$status"
}

# test_once_more: alone, each file that failed: beside three others it may have been for want of time. What failed then
# stands in its output.
test_once_more() {
	local failed name first status=0
	for failed in "$bats"/*/failed; do
		[[ -e $failed ]] || continue
		name=${failed#"$bats/"} name=${name%/failed}
		first=$(grep '^not ok' "$bats/$name.tap" | sed 's/^/# beside other files: /') || true
		test_file "$name" 198.18.0.0/26 || status=1
		printf '%s\n' "$first" >>"$bats/$name.tap"
	done
	return "$status"
}
