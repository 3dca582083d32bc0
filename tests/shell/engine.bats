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

# client_with COMPOSE [BUILDX_STATUS]: installs a fake docker whose Compose has this version.
client_with() {
	client <<-EOS
		case "\$1 \$2" in
		'compose version') echo '$1' ;;
		'buildx version') exit ${2:-0} ;;
		*) exit 1 ;;
		esac
	EOS
}

# refused WORDS: matrix.sh ends with status 2 and a single line that has WORDS.
refused() {
	run -2 "$root/scripts/matrix.sh" --list
	echo "$output"
	[[ ${#lines[@]} == 1 && $output == *"$1"* ]]
}

@test "no Docker at all" { refused "no Docker with Compose"; }

@test "a docker without Compose" {
	client <<<'exit 1'
	refused "no Docker with Compose"
}

@test "Compose that is too old, or no buildx" {
	client_with 2.19.1
	refused "no Docker with Compose"
	client_with 2.20.0 1
	refused "no Docker with Compose"
}

@test "a daemon that does not answer" {
	client_with v2.20.0
	refused "the Docker daemon does not answer"
}

@test "Ctrl-C while asking the daemon is not reported as a daemon that does not answer" {
	local pid status=0
	# Like Docker's client, which exits with an error when interrupted.
	client <<-EOS
		case "\$1 \$2" in
		'compose version') echo 2.40.0 ;;
		'buildx version') ;;
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
