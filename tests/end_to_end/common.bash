# shellcheck shell=bash
# A copy of the project that tests may change, and helpers to inspect a run. Only declares.

bats_require_minimum_version 1.5.0

export BENCH_SUBNET=${BENCH_SUBNET:-198.18.0.0/24}

# copy_project FOLDER: copies what git tracks or would add, this machine's choice of base images, and the bytecode that setup.sh has
# compiled, which counts only for sources of the same age. Warm-ups are short, because they use all cores and no test needs exact
# speeds. Additions to the matrix go into services/matrix.local.toml.
copy_project() {
	local from=$BATS_TEST_DIRNAME/../..
	mkdir -p "$1"
	(
		cd "$from" || exit
		{
			git ls-files -z --cached --others --exclude-standard -- ':!results/published'
			find bench driver -name '*.pyc' -print0
		} | xargs -0 cp --parents --no-dereference --preserve=timestamps --target-directory "$1"
	)
	[[ ! -f $from/services/.env ]] || cp "$from/services/.env" "$1/services/"
	cd "$1" || return
	printf '[defaults]\nwarmup = 0.2\n' >services/matrix.local.toml
}

# any_host: noise of the machine must not make windows invalid, as other tests run at the same time.
any_host() { export MAX_STEAL=999 MAX_FOREIGN_CPU=999 MAX_LOADGEN_WAIT=999; }

# the_run: prints the folder of the only run.
the_run() {
	local runs=(results/2*/)
	((${#runs[@]} == 1)) || return 1
	echo "${runs[0]%/}"
}

# count PATTERN FILE...: counts matching lines; prints nothing if a file is missing.
count() {
	local file
	for file in "${@:2}"; do [[ -r $file ]] || return; done
	cat "${@:2}" | grep -c -- "$1" || true
}

# metas RUN: prints the metadata of all measurements, one per line.
metas() { find "$1/raw" -name meta.json -exec cat {} +; }

# busy_host: causes that are acceptable while other tests use the CPU: the host, the load generator, a load that was sent late,
# responses that came after their turns, or a stall that violates Little's law. rate_unknown: loads at a rate that were not run, because such an invalid window should have shown
# which rate is possible.
busy_host='(host|loadgen-bound|load not as requested|late responses|arithmetic(: |", *"detail": *")[0-9]+ connections at)'
rate_unknown='"cause": *"not run", *"detail": *"(what vegeta can send is not known|no service has a speed|left out: )'

# busy_host_causes RUN: fails if a record of the run is invalid for another cause.
busy_host_causes() {
	local others
	others=$(grep -oE '"cause": *"[^"]*", *"detail": *"[^"]*"' "$1/records.jsonl" | grep -vE "^\"cause\": *\"$busy_host|^$rate_unknown") || return 0
	echo "$others"
	return 1
}

# owners FOLDER: prints who owns the files below it, one user name per line.
owners() { find "$1" -printf '%u\n' | sort -u; }

# containers_of RUN: prints the ids of its containers. (50-cut.bats tests that it finds them.)
containers_of() { "$docker" ps --all --quiet --filter "label=com.docker.compose.project.working_dir=$PWD/$1"; }

# confined: whether every container on standard input, as JSON of Compose or `docker inspect`, is confined
# (tests/support/containment.py).
confined() {
	"$docker" run --rm --interactive --network none --user "$(id -u):$(id -g)" --volume "$PWD:$PWD:ro" --workdir "$PWD" --env PYTHONPATH=. \
		bench/loadgen python3 tests/support/containment.py "$PWD"
}

# remove_images PATTERN: removes images with matching names, if there are any.
remove_images() {
	"$docker" image ls --format '{{.Repository}}' | grep -E "$1" | xargs --no-run-if-empty "$docker" image rm >/dev/null 2>&1 || true
}

# shellcheck source=scripts/lib/engine.sh
source "$BATS_TEST_DIRNAME/../../scripts/lib/engine.sh"
find_docker
# The scripts under test must find Docker themselves.
unset BENCH_DOCKER
