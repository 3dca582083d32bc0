#!/usr/bin/env bats
# What a run says of itself: on a terminal, in a log, quietly. Nothing is loaded: raw files that were made before appear
# where the load tools would have left them.

bats_require_minimum_version 1.5.0

setup_file() {
	export PYTHONPATH=$BATS_TEST_DIRNAME/../..:$BATS_TEST_DIRNAME/../support
	cd "$BATS_FILE_TMPDIR" || return
	python3 - <<-'MAKE'
		import json
		from pathlib import Path
		from make_run import entry, output_of, write_measurement, write_run

		def pair(number, side, stack):
		    place = {"id": f"r01-{number:04}-1{side}", "unit": f"r01-{number:04}", "mode": "duet", "pair": "p001", "side": side}
		    place |= {"window": 1, "slot": 1, "dir": f"raw/r01/pairs/p001/1{side}", "seconds": 5}
		    return entry(stack, number=number) | place

		plan = [entry(stack, number=n, seconds=5) for n, stack in enumerate(("aiohttp", "tornado", "bjoern-wsgi", "cherrypy"), 1)]
		plan += [pair(5, "a", "aiohttp"), pair(5, "b", "uvicorn-asgi")]
		listed = {"name": "p001", "a": plan[4]["service"], "b": plan[5]["service"]}
		pairs = [listed | {key: plan[4][key] for key in ("scenario", "tool", "level")}]
		for name in ("results/a-run", "made"):
		    write_run(Path(name), plan, pairs=pairs)
		failed = {"outcome": "failed verification", "detail": "not ok 3"}
		Path("results/a-run/raw/services/bjoern-wsgi-py313-debian/failure.json").write_text(json.dumps(failed))
		for line, rate in zip(plan, (3000, 9999, 0, 0, 3100, 4100)):
		    if rate:
		        write_measurement(Path("made"), line, output_of(line, rate, 9000 if rate == 9999 else 0))
		died = {"outcome": "died", "detail": "exit \033[2J139", "id": plan[3]["id"]}
		(Path("made") / plan[3]["dir"]).mkdir(parents=True)
		(Path("made") / plan[3]["dir"] / "meta.json").write_text(json.dumps(died))
	MAKE
	cat >measure <<-'MEASURE'
		set -Eeuo pipefail
		source "$project/scripts/lib/measure.sh"
		run=a-run run_dir=results/a-run
		# What the report's own program says is asked for once, and kept for the other ways of showing it.
		report() { said "$@"; }
		in_loadgen() { said "${@:4}"; }
		said() {
			[[ -e "said ${*//\//-}" ]] || python3 -m bench "$@" >"said ${*//\//-}"
			cat "said ${*//\//-}"
		}
		measure_one() { appear "$3"; }
		measure_pair() { appear "$4"; }
		appear() {
			outcome=measured
			mkdir -p "${1%/*}"
			cp -r "made/${1#results/a-run/}" "${1%/*}"
			printf 'under load\n' >>loads
		}
		say "building 5 services"
		measure_all
		say "the end"
		echo "results/a-run/report.md"
	MEASURE
	# in_terminal COLUMNS COMMAND...: standard output and errors of a terminal, as they come.
	cat >in_terminal.py <<-'PTY'
		import fcntl, os, pty, struct, sys, termios
		child, screen = pty.fork()
		if child == 0:
		    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
		    os.execvp(sys.argv[2], sys.argv[2:])
		while True:
		    try:
		        data = os.read(screen, 65536)
		    except OSError:
		        break
		    if not data:
		        break
		    sys.stdout.buffer.write(data)
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
	PTY
	for mode in log terminal narrow no_color dumb quiet quiet_terminal; do
		rm -rf results.run && cp -r results results.run
		local -x project=$BATS_TEST_DIRNAME/../.. TERM=xterm
		case $mode in
		log) bash measure >"$mode" 2>&1 ;;
		terminal) python3 in_terminal.py 200 bash measure >"$mode" ;;
		narrow) python3 in_terminal.py 40 bash measure >"$mode" ;;
		no_color) NO_COLOR=1 python3 in_terminal.py 200 bash measure >"$mode" ;;
		dumb) TERM=dumb python3 in_terminal.py 200 bash measure >"$mode" ;;
		quiet) BENCH_QUIET=1 bash measure >"$mode" 2>&1 ;;
		quiet_terminal) BENCH_QUIET=1 python3 in_terminal.py 200 bash measure >"$mode" ;;
		esac || { cat "$mode" && return 1; }
		rm -rf results && mv results.run results
	done
}

setup() { cd "$BATS_FILE_TMPDIR" || return; }

# drawings FILE: each state of the line in place, one a line, without colours.
drawings() { tr '\r' '\n' <"$1" | sed -n 's/^\x1b\[K//p' | sed 's/\x1b\[[0-9;]*m//g' | grep '^\['; }

escape=$'\033' red=$'\033[31m' plain=$'\033[0m'

@test "a log has one line a step, with what the report's gate says of it" {
	cat log
	[[ $(grep -c '^\[' log) == 5 ]]
	grep -qE '^\[1/5\] aiohttp-py313-debian json wrk c64: 3,000 requests/s; 0 not valid, [0-9]+:[0-9]{2} left$' log
	grep -qE '^\[2/5\] tornado-py313-debian json wrk c64: invalid: [^0-9;]+: .*; 1 not valid, ' log
	grep -qE '^\[3/5\] bjoern-wsgi-py313-debian json wrk c64: not loaded; 2 not valid, ' log
	grep -qE '^\[4/5\] cherrypy-py313-debian json wrk c64: invalid: died: exit .*139; 3 not valid, ' log
	grep -qE '^\[5/5\] aiohttp-py313-debian and uvicorn-asgi-py313-debian json wrk c64: 3,100 and 4,100 requests/s; 3 not valid, 0:00 left$' log
	# Nothing is drawn over, and nothing that was measured steers a terminal.
	run -1 grep -q "[$escape"$'\r]' log
	[[ $(sed -n '1p;$p' log) == $'building 5 services\nresults/a-run/report.md' ]]
}

@test "what is not valid has no figure, neither then nor as the last one" {
	run -1 grep -E '^\[[234]/5\].*requests/s' log dumb
	run -1 grep -E '^\[[234]/5\].*requests/s' <(drawings terminal) <(drawings narrow) <(drawings no_color)
	[[ $(drawings terminal | grep -c '^\[[234]/5\].* last [a-z]') == 6 ]]
}

@test "a terminal has one line in place: what is under load, done, left, the last figure, what is not valid" {
	drawings terminal
	grep -qE '^\[0/5\] [0-9]+:[0-9]{2} left, 0 not valid \| now aiohttp-py313-debian json wrk c64$' <(drawings terminal)
	grep -qE '^\[1/5\] [0-9]+:[0-9]{2} left, 0 not valid, last 3,000 requests/s \| now tornado-py313-debian json wrk c64$' <(drawings terminal)
	grep -qE '^\[2/5\] .* 1 not valid, last invalid: [a-z0-9 -]+ \| now bjoern-wsgi-py313-debian json wrk c64$' <(drawings terminal)
	grep -qE '^\[5/5\] 0:00 left, 3 not valid, last 3,100 and 4,100 requests/s$' <(drawings terminal)
	# Two drawings a step, and all of them on one line of the screen.
	[[ $(drawings terminal | wc -l) == 10 ]]
	[[ $(tr -d '\n' <terminal | grep -o $'left, [^\r]*\r' | wc -l) -ge 9 ]]
	[[ $(grep -c 'left, ' terminal) == 1 ]]
	[[ $(sed 's/\r$//' terminal | tail -n 2) == $'the end\nresults/a-run/report.md' ]]
}

@test "colour only where it is wanted, and only for what is not valid" {
	grep -qF "${red}1 not valid$plain" terminal
	run -1 grep -qF "${red}0 not valid" terminal
	run -1 grep -qF "$red" no_color
	cmp <(drawings terminal | sed 's/[0-9]*:[0-9]* left//') <(drawings no_color | sed 's/[0-9]*:[0-9]* left//')
}

@test "a narrow terminal: the line never wraps" {
	[[ $(drawings narrow | awk '{ if (length > most) most = length } END { print most }') == 39 ]]
}

@test "a terminal that cannot draw over has lines, as a log" {
	[[ $(grep -c '^\[./5\] .* left' dumb) == 5 ]]
	run -1 grep -q "$escape" dumb
}

@test "quiet: nothing, where nothing goes wrong but a figure; the report has it" {
	[[ $(<quiet) == results/a-run/report.md ]]
	[[ $(tr -d '\r' <quiet_terminal) == results/a-run/report.md ]]
}

@test "a message on the terminal takes the line's place, and the line is drawn anew" {
	cat >message <<-'MESSAGE'
		source "$project/scripts/lib/progress.sh"
		began=0
		step_begins 0 2 5 0 one
		warn "something else"
		step_begins 0 2 5 0 one
		fail 2 "no more"
	MESSAGE
	project=$BATS_TEST_DIRNAME/../.. TERM=xterm run -2 python3 in_terminal.py 80 bash message
	[[ $output == *"now one"$'\r'"${escape}[Ksomething else"*"now one"$'\r'"${escape}[Kmessage: no more"* ]]
}

@test "progress is asked between loads alone: once a step that was loaded" {
	cat >counted <<-'COUNTED'
		source measure_functions
		glance() { printf 'looked\n' >>loads; printf 'valid\t1 requests/s\n'; }
	COUNTED
	sed '/^say "building/,$d' measure >measure_functions
	rm -rf results.run loads && cp -r results results.run
	project=$BATS_TEST_DIRNAME/../.. bash -c 'source counted; measure_all' 2>/dev/null
	rm -rf results && mv results.run results
	[[ $(<loads) == $'under load\nlooked\nunder load\nlooked\nunder load\nlooked\nunder load\nlooked' ]]
}
