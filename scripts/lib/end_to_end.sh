# shellcheck shell=bash
# The stage end-to-end of scripts/test.sh. Only declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"

# bats runs on this host, where Docker is; its files come out of the tests' image. Four files at a time, each on its
# quarter of the network: what they test is mostly waited for.
test_end_to_end() {
	local bats container status=0
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
	# One stream of TAP, whose plan may be its last line.
	cat "$bats"/*.tap | awk '/^1\.\.[0-9]+$/ { next } /^(not )?ok [0-9]/ { sub(/[0-9]+/, ++n) } { print } END { print "1.." n }'
	[[ ! -e $bats/failed ]] || status=1
	rm -rf "$bats"
	return "$status"
}

# test_files SUBNET: one test file after the other that nobody has taken; from the last, which takes longest.
test_files() {
	local files i name began
	files=("$root"/tests/end-to-end/*.bats)
	for ((i = ${#files[@]} - 1; i >= 0; i--)); do
		name=${files[i]##*/} began=$SECONDS
		mkdir "$bats/$name" 2>/dev/null || continue
		BENCH_SUBNET=$1 "$bats/bin/bats" --tap --timing "${files[i]}" >"$bats/$name.tap" 2>&1 || touch "$bats/failed"
		echo "# file $name: $((SECONDS - began)) s" >>"$bats/$name.tap"
	done
}
