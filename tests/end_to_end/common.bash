# shellcheck shell=bash
# A copy of the project to break in, and questions to ask of a run. Only declares.

bats_require_minimum_version 1.5.0

export BENCH_SUBNET=${BENCH_SUBNET:-198.18.0.0/24}

# copy_project FOLDER: what git would hold of the work tree, and this machine's choice of bases. Its warm-ups are short, as
# they take all cores and no test asks how fast anything is. Additions to its matrix go into services/matrix.local.toml.
copy_project() {
	local from=$BATS_TEST_DIRNAME/../..
	mkdir -p "$1"
	(cd "$from" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --no-dereference --target-directory "$1")
	[[ ! -f $from/services/.env ]] || cp "$from/services/.env" "$1/services/"
	cd "$1" || return
	printf '[defaults]\nwarmup = 0.2\n' >services/matrix.local.toml
}

# any_host: what else this machine does is not what a test asks, and must not decide it.
any_host() { export MAX_STEAL=999 MAX_FOREIGN_CPU=999 MAX_LOADGEN_WAIT=999; }

# the_run: the only run's folder.
the_run() {
	local runs=(results/2*/)
	((${#runs[@]} == 1)) || return 1
	echo "${runs[0]%/}"
}

# count PATTERN FILE...: lines that match; nothing where a file is missing.
count() {
	local file
	for file in "${@:2}"; do [[ -r $file ]] || return; done
	cat "${@:2}" | grep -c -- "$1" || true
}

# metas RUN: metadata of all measurements, one a line.
metas() { find "$1/raw" -name meta.json -exec cat {} +; }

# Why a window is not valid while other tests have the CPU: the host, the load generator, a load that was sent late, or a stall
# that makes Little's law fail; and what says that no load was sent at a rate, as such a window was to show which one can be, or how
# fast the service is.
busy_host='(host|loadgen-bound|not the asked load|arithmetic(: |", *"detail": *")[0-9]+ connections at)'
rate_unknown='"cause": *"not run", *"detail": *"(what vegeta can send is not known|no service has a speed|left out: )'

# busy_host_causes RUN: fails where a record of the run is not valid for another cause.
busy_host_causes() {
	local others
	others=$(grep -oE '"cause": *"[^"]*", *"detail": *"[^"]*"' "$1/records.jsonl" | grep -vE "^\"cause\": *\"$busy_host|^$rate_unknown") || return 0
	echo "$others"
	return 1
}

# owners FOLDER: of all files in it, a name a line.
owners() { find "$1" -printf '%u\n' | sort -u; }

# containers_of RUN: their ids. (50-cut.bats shows that it finds them.)
containers_of() { "$docker" ps --all --quiet --filter "label=com.docker.compose.project.working_dir=$PWD/$1"; }

# confined: whether every container on standard input is (tests/support/containment.py), as Compose or `docker inspect` prints them.
confined() {
	"$docker" run --rm --interactive --network none --user "$(id -u):$(id -g)" --volume "$PWD:$PWD:ro" --workdir "$PWD" --env PYTHONPATH=. \
		bench/loadgen python3 tests/support/containment.py "$PWD"
}

# remove_images PATTERN: those whose names match; none need be there.
remove_images() {
	"$docker" image ls --format '{{.Repository}}' | grep -E "$1" | xargs --no-run-if-empty "$docker" image rm >/dev/null 2>&1 || true
}

# shellcheck source=scripts/lib/engine.sh
source "$BATS_TEST_DIRNAME/../../scripts/lib/engine.sh"
find_docker
# The scripts under test are to find it themselves.
unset BENCH_DOCKER
