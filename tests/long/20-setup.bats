#!/usr/bin/env bats
# scripts/setup.sh --setup in fresh Debians: no package is upgraded, README's first command measures, and there is a way back.

load ../end_to_end/common

setup() {
	((EUID == 0)) || skip "only root makes a fresh Debian"
	# shellcheck source=tests/lib/fresh_debian.sh
	source "$BATS_TEST_DIRNAME/../lib/fresh_debian.sh"
	# shellcheck source=scripts/lib/bases.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/bases.sh"
	find_docker
}

teardown() { stop_debian; }

# fresh SUITE: starts a fresh Debian that has the project.
fresh() {
	start_debian "$1" "$BATS_TEST_TMPDIR/$1"
	copy_project "$debian/bench"
	rm -f services/.env
	packages >"$BATS_TEST_TMPDIR/before"
}

# shellcheck disable=SC2016 # dpkg's own format
packages() { in_debian dpkg-query --show --showformat '${Package} ${Version} ${Status}\n' | sort; }

# installed: installs what is missing. Nothing of what was there has changed, and what is new was said and listed.
installed() {
	run -0 in_debian bash -Eeuo pipefail -c 'source scripts/lib/install.sh && install_missing'
	echo "$output"
	packages >"$BATS_TEST_TMPDIR/after"
	[[ -z $(comm -23 "$BATS_TEST_TMPDIR"/{before,after}) ]]
	comm -13 "$BATS_TEST_TMPDIR"/{before,after} | cut -d' ' -f1 >"$BATS_TEST_TMPDIR/new"
	diff "$BATS_TEST_TMPDIR/new" <(sort "$debian/opt/bench-docker/packages")
	diff "$BATS_TEST_TMPDIR/new" <(sed -n 's/^installing by apt, .*: //p' <<<"$output" | tr ' ' '\n' | sort)
	[[ $(in_debian docker version --format '{{.Server.Version}}') == 26.* ]]
}

# undone: what docs/engines.md says leads back to the packages that were there, and leaves no file of Docker.
undone() {
	local way_back
	# shellcheck disable=SC2016 # no commands
	way_back=$(sed -n '/and how to undo it$/,/^```$/{/^```sh$/,/^```$/{/^```/!p}}' docs/engines.md)
	[[ $way_back == *purge* ]]
	yes | in_debian bash -Eeuxo pipefail -c "$way_back"
	packages | diff "$BATS_TEST_TMPDIR/before" -
	run ! in_debian ls -d /opt/bench-docker /var/lib/docker /run/docker.pid
	[[ -z $(find "$debian/usr/local" -lname "/opt/*") ]]
}

@test "Debian 12: Docker comes into a folder of its own, README's first command measures, and all can be undone" {
	local images
	fresh bookworm
	installed
	[[ $output == *"unpacking Debian 13's docker.io "*" into /opt/bench-docker "* && ! -s $debian/usr/bin/docker ]]
	# Its own runc serves.
	[[ $(in_debian docker version --format '{{range .Server.Components}}{{.Name}} {{.Version}};{{end}}') == *';runc 1.1.5'* ]]
	# Without these images, it would build for many minutes what this machine has built already.
	images=$(setup_bases)
	# shellcheck disable=SC2086 # a list of names
	"$docker" save "${harness[@]/#/bench/}" $images | in_debian docker load >/dev/null
	run -0 --separate-stderr in_debian env MAX_STEAL=999 MAX_FOREIGN_CPU=999 MAX_LOADGEN_WAIT=999 \
		scripts/matrix.sh --setup --preset quick --stack gunicorn-sync-wsgi,uvicorn-asgi --scenario json --rounds 2 --no-latency
	# shellcheck disable=SC2154 # bats sets it
	echo "$stderr"
	[[ $output == results/*/report.md ]]
	[[ $(count '"valid": *true' "$(the_run)/records.jsonl") -gt 0 ]]
	packages | comm -23 "$BATS_TEST_TMPDIR/before" - | diff /dev/null -
	undone
}

@test "Debian 13: its own packages are installed, none is upgraded, and all can be undone" {
	fresh trixie
	installed
	[[ $output != *unpacking* && -x $debian/usr/bin/docker ]]
	undone
}
