# shellcheck shell=bash
# The images that every run needs, and whether they are those of this source. Only declares; compose.sh has `compose`.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"

harness=(loadgen postgres upstream)

# A digest of all that the harness's images are built from.
harness_source() {
	(cd "$root" && find loadgen postgres upstream bench/requirements.txt -type f -print0 | sort -z |
		xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
}

have_harness() {
	local wanted have
	wanted=$(harness_source) || return
	have=$("$docker" image inspect -f '{{index .Config.Labels "bench.source"}}' "${harness[@]/#/bench/}" 2>/dev/null | sort -u) || return
	[[ $have == "$wanted" ]]
}

# need_tools: an engine that answers, and the image that in_tools runs.
need_tools() {
	need_engine
	have_harness || "$root/scripts/setup.sh"
}

build_harness() {
	local log source status=0
	log=$(mktemp)
	source=$(harness_source)
	say "building the load generator, PostgreSQL and the upstream"
	BENCH_SOURCE=$source compose build --progress plain "${harness[@]}" >"$log" 2>&1 || status=$?
	((status == 0)) || { tail -n 30 "$log" >&2 && fail 1 "the harness does not build; the end of $log is above"; }
	rm -f "$log"
}
