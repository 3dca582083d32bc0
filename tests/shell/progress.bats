#!/usr/bin/env bats
# What a run says of itself: on a terminal, in a log, quietly. Nothing is loaded: the raw files that a load would leave
# are there.

bats_require_minimum_version 1.5.0

load loop

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	make_run a-run <<-'RUN'
		stacks = ("aiohttp", "tornado", "bjoern-wsgi", "cherrypy", "uvicorn-asgi")
		plan = [solo(stack, n, seconds=5) for n, stack in enumerate(stacks, 1)]
		rates = [3000, 9999, 0, 0, 3100]
	RUN
	echo '{"outcome": "failed verification", "detail": "not ok 3"}' >results/a-run/raw/services/bjoern-wsgi-py313-debian/failure.json
	printf '12 exit \033[2J139\n' >run-r01-0004
	echo cherrypy-py313-debian >dead
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
		local -x TERM=xterm
		case $mode in
		log) bash loop >"$mode" 2>&1 ;;
		terminal) python3 in_terminal.py 200 bash loop >"$mode" ;;
		narrow) python3 in_terminal.py 40 bash loop >"$mode" ;;
		no_color) NO_COLOR=1 python3 in_terminal.py 200 bash loop >"$mode" ;;
		dumb) TERM=dumb python3 in_terminal.py 200 bash loop >"$mode" ;;
		quiet) BENCH_QUIET=1 bash loop >"$mode" 2>&1 ;;
		quiet_terminal) BENCH_QUIET=1 python3 in_terminal.py 200 bash loop >"$mode" ;;
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
	grep -qE '^\[5/5\] uvicorn-asgi-py313-debian json wrk c64: 3,100 requests/s; 3 not valid, 0:00 left$' log
	# Nothing is drawn over, and nothing that was measured steers a terminal.
	run -1 grep -q "[$escape"$'\r]' log
	[[ $(sed -n '1p;$p' log) == $'building 5 services\nresults/a-run/report.md' ]]
}

@test "what is not valid has no figure, neither then nor as the last one" {
	run -1 grep -E '^\[[234]/5\].*requests/s' log dumb
	run -1 grep -E '^\[[234]/5\].*requests/s' <(drawings terminal) <(drawings narrow) <(drawings no_color)
	[[ $(drawings terminal | grep -c '^\[[234]/5\].* last [a-z]') == 2 ]]
}

@test "a terminal has one line in place: what is under load, done, left, the last figure, what is not valid" {
	drawings terminal
	grep -qE '^\[0/5\] [0-9]+:[0-9]{2} left, 0 not valid \| now aiohttp-py313-debian json wrk c64$' <(drawings terminal)
	grep -qE '^\[1/5\] [0-9]+:[0-9]{2} left, 0 not valid, last 3,000 requests/s \| now tornado-py313-debian json wrk c64$' <(drawings terminal)
	grep -qE '^\[3/5\] .* 2 not valid, last not loaded \| now cherrypy-py313-debian json wrk c64$' <(drawings terminal)
	grep -qE '^\[4/5\] .* 3 not valid, last invalid: died \| now uvicorn-asgi-py313-debian json wrk c64$' <(drawings terminal)
	grep -qE '^\[5/5\] 0:00 left, 3 not valid, last 3,100 requests/s$' <(drawings terminal)
	# One drawing between two loads, and all of them on one line of the screen.
	[[ $(drawings terminal | wc -l) == 5 ]]
	[[ $(tr -d '\n' <terminal | grep -o $'left, [^\r]*\r' | wc -l) == 5 ]]
	[[ $(grep -c 'left, ' terminal) == 1 ]]
	[[ $(sed 's/\r$//' terminal | tail -n 2) == $'the end\nresults/a-run/report.md' ]]
}

@test "colour only where it is wanted, and only for what is not valid" {
	grep -qF "${red}2 not valid$plain" terminal
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

@test "a message on the terminal takes the line's place, and the line is drawn again" {
	cat >message <<-'MESSAGE'
		source "$PROJECT/scripts/lib/common.sh"
		draw "now one"
		warn "something else"
		draw "now one"
		fail 2 "no more"
	MESSAGE
	TERM=xterm run -2 python3 in_terminal.py 80 bash message
	[[ $output == *"now one"$'\r'"${escape}[Ksomething else"*"now one"$'\r'"${escape}[Kmessage: no more"* ]]
}
