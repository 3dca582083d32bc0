# shellcheck shell=bash
# A table of four services of which one is hostile (tests/support/hostile_app.py). Only declares.

load ../end_to_end/common

# Each file has its own, because files run side by side.
framework=${BATS_TEST_FILENAME##*-}
framework=hostile-${framework%.bats}

setup_file() {
	local folder=services/frameworks/$framework
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
	cp -r services/frameworks/wsgi "$folder"
	mv "$folder/app.py" "$folder/contract_app.py"
	cp "$BATS_TEST_DIRNAME/../support/hostile_app.py" "$folder/app.py"
	cp services/locks/py313/framework-{wsgi,"$framework"}.txt
	printf '[frameworks.%s]\ninterface = "wsgi"\n' "$framework" >>services/matrix.local.toml
	# In place of commands that a reader of the image might run; in the services of rivals they are what they were.
	cat >services/hostile-command <<-'COMMAND'
		#!/bin/bash
		case ${HOSTILE-} in
		command-sleeps) exec -a "$0" /bin/sleep 999 ;;
		command-floods) exec /usr/bin/yes "$(printf '%01000d' 0)" ;;
		esac
		exec "/bin/${0##*/}" "$@"
	COMMAND
	sed -i '/^ENV PATH=\/opt\/venv\/bin/i COPY --chmod=0755 hostile-command /hostile/cat' services/debian.Dockerfile
	sed -i 's|^ENV PATH=/opt/venv/bin:|ENV PATH=/hostile:/opt/venv/bin:|' services/debian.Dockerfile
	echo '!hostile-command' >>services/.dockerignore
	scripts/generate.sh
}

setup() { cd "$BATS_FILE_TMPDIR/project" || return; }

teardown() { rm -rf "$BATS_FILE_TMPDIR/project"/results/2*; }

teardown_file() { remove_images "^bench/gunicorn-sync-$framework-"; }

# ranked HOSTILE: measures rivals a, b and c, which need 2 and 7 ms more CPU per request, with a hostile service in their table.
ranked() {
	local status=0 run_folder watching most
	watch_drivers >most 3>&- &
	watching=$!
	MEMORY=160m PIDS=64 READY_TIMEOUT=40 ANSWER_TIMEOUT=5 timeout 600 scripts/matrix.sh --stack "gunicorn-sync-$framework" --vary "HOSTILE=a,b,c,$1" \
		--rounds 6 --scenario db-raw --tool wrk --level 8 --controls none --no-latency 2>log || status=$?
	kill "$watching"
	cat log
	most=$(sort -n most | tail -n 1)
	echo "the most memory of a driver: $most kB"
	((status < 2 && most > 0 && most < 100 << 10))
	run_folder=$(the_run)
	grep -E '"kind": "contrast"' "$run_folder/verdicts.jsonl" | grep -oE '"(a|b|verdict)": "[^"]*"' || true
	slower b a
	slower c b
	slower c a
	[[ -z $(containers_of "$run_folder") && $(du -sm "$run_folder" | cut -f1) -lt 64 ]]
}

# watch_drivers: prints the peak memory of each driver on this machine, in kB, once a second.
watch_drivers() {
	local pid
	while sleep 1; do
		for pid in $(pgrep -f 'python3.* -m driver '); do awk '$1 == "VmHWM:" { print $2 }' "/proc/$pid/status" 2>/dev/null || true; done
	done
}

# slower SLOW FAST: the run's verdict on two rivals, whose contrast may be given either way.
slower() {
	local a="\"a\": \"[^\"]*-hostile" b=".*\"b\": \"[^\"]*-hostile" verdict="\".*\"verdict\":"
	grep -qE "$a$2\"$b$1$verdict \"slower\"|$a$1\"$b$2$verdict \"faster\"" "$(the_run)/verdicts.jsonl"
}
