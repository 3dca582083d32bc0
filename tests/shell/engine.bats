#!/usr/bin/env bats
# The scripts' search for Docker, if none or only an unsuitable one is installed. The tests' image has no Docker.

bats_require_minimum_version 1.5.0

setup() {
	root=$BATS_TEST_DIRNAME/../..
	bin=$BATS_TEST_TMPDIR/bin
	mkdir "$bin"
	PATH=$bin:$PATH
	unset BENCH_DOCKER
	run ! command -v docker
}

# client <<<SCRIPT: installs a fake docker.
client() {
	{ echo '#!/usr/bin/env bash' && cat; } >"$bin/docker"
	chmod +x "$bin/docker"
}

# client_with PLUGIN...: installs a fake docker with these plugins, to which no daemon answers.
client_with() {
	client <<-EOS
		[[ \$1 != info ]] || printf '%s;' $(printf "'%s' " "$@")
		exit 1
	EOS
}

# refused WORDS: both kinds of scripts, those of driver/ and those in bash, end with status 2 and a single line that has WORDS.
refused() {
	local script
	for script in 'matrix.sh --dry-run' 'export.sh csv a-run'; do
		# shellcheck disable=SC2086 # name and arguments
		run -2 "$root/scripts/"$script
		echo "$output"
		[[ ${#lines[@]} == 1 && $output == "${script%% *}: "*"$1"* ]]
	done
}

@test "no Docker at all" { refused "no Docker with Compose"; }

@test "names are listed, and unknown ones refused, without Docker" {
	run -0 --separate-stderr "$root/scripts/matrix.sh" --list servers
	[[ ${#lines[@]} -gt 30 && -z ${stderr:-} ]]
	if [[ ! -e $root/services/matrix.local.toml ]]; then
		run -0 --separate-stderr "$root/scripts/matrix.sh" --list --framework fastapi
		[[ $output == *'uvicorn-fastapi '* && ${#stderr_lines[@]} == 1 ]]
		run -2 "$root/scripts/matrix.sh" --framework fastpai
		[[ $output == "matrix.sh: unknown framework 'fastpai'; did you mean fastapi? "* ]]
	fi
	for script in matrix compare bisect; do
		run -0 "$root/scripts/$script.sh" --stack a -h
		[[ ${lines[0]} == "Usage: scripts/$script.sh "* ]]
	done
}

@test "a docker without Compose" {
	client <<<'exit 1'
	refused "no Docker with Compose"
}

@test "Compose that is too old, or no buildx" {
	client_with 'compose 2.19.1' 'buildx v0.13.1'
	refused "no Docker with Compose"
	client_with 'compose 2.20.0'
	refused "no Docker with Compose"
}

@test "a daemon that does not answer" {
	client_with 'buildx v0.13.1' 'compose v2.20.0'
	refused "the Docker daemon does not answer"
}

@test "a script finds the client once, and hands it on" {
	client_with 'buildx v0.13.1' 'compose v2.20.0'
	# shellcheck source=scripts/lib/engine.sh
	source "$root/scripts/lib/engine.sh"
	find_docker
	rm "$bin/docker"
	find_docker
	run ! engine_answers
	# shellcheck disable=SC2016 # the other shell expands it
	[[ $docker == docker && $(bash -c 'echo $BENCH_DOCKER') == docker ]]
	unset BENCH_DOCKER
	run -2 find_docker
}

@test "Ctrl-C while asking the daemon is not reported as a daemon that does not answer" {
	local pid status=0
	# Like Docker's client, which exits with an error when interrupted.
	client <<-EOS
		case \$1 in
		info) echo 'buildx 0.13.1+ds1;compose 2.26.1-4;' && exit 1 ;;
		*) trap 'exit 1' INT && touch '$BATS_TEST_TMPDIR/asked' && for i in {1..100}; do sleep 0.1; done ;;
		esac
	EOS
	setsid env --default-signal=INT "$root/scripts/matrix.sh" --list >"$BATS_TEST_TMPDIR/said" 2>&1 3>&- &
	pid=$!
	until [[ -e $BATS_TEST_TMPDIR/asked ]] || ! kill -0 "$pid"; do sleep 0.05; done
	kill -INT -- "-$pid"
	wait "$pid" || status=$?
	cat "$BATS_TEST_TMPDIR/said"
	[[ $status == 130 && ! -s $BATS_TEST_TMPDIR/said ]]
}
