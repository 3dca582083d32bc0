#!/usr/bin/env bats
# loadgen/measure with fake load tools: no network, no container.

bats_require_minimum_version 1.5.0

setup() {
	root=$BATS_TEST_DIRNAME/../..
	measure=$root/loadgen/measure
	run_dir=$BATS_TEST_TMPDIR/run
	bin=$BATS_TEST_TMPDIR/bin
	dir=$run_dir/raw/cell
	mkdir -p "$run_dir" "$bin"
	PATH=$bin:$PATH
	pretend wrk <<-'EOS'
		[[ $1 != -v ]] || { echo "wrk debian/4.1.0 [epoll]"; exit 1; }
		echo "out: $*"
		echo err >&2
	EOS
	pretend hey <<<'echo "[200] 10 responses"'
	pretend dpkg-query <<<'echo -n 0.1.4-2'
	pretend vegeta <<-'EOS'
		case $1 in
		-version) echo "Version: v12.13.0" ;;
		report) echo "report ${2#-type=}" ;;
		esac
	EOS
	pretend vegeta-attack <<-'EOS'
		echo "target: $(cat)"
		echo "attack err" >&2
	EOS
	answer '' 200 '{"message":"Hello, World!"}'
}

pretend() { # TOOL <SCRIPT
	{ echo '#!/usr/bin/env bash' && cat; } >"$bin/$1"
	chmod +x "$bin/$1"
}

# answer ERROR STATUS BODY: what every request of curl gets from now on.
answer() {
	printf '%s' "$3" >"$BATS_TEST_TMPDIR/answer"
	pretend curl <<-EOS
		while ((\$# > 1)); do
			[[ \$1 != --output ]] || cp '$BATS_TEST_TMPDIR/answer' "\$2"
			shift
		done
		printf '%s\n' '$1' '$2 0.001 0.001' >&2
	EOS
}

# write_step <LINES: writes the step file from these lines of a plan.
write_step() {
	PYTHONPATH=$root python3 -c '
import json, sys
from pathlib import Path
from bench.plan.measurement import planned_of
from bench.schedule.step_file import write_step
from bench.schedule.steps import Step
write_step(Path(sys.argv[1]), Step(tuple(planned_of(json.loads(line)) for line in sys.stdin)))' "$run_dir"
}

# line CHANGE: a line of a plan: the defaults, changed by a JSON object.
line() {
	jq -nc --argjson change "$1" '{id: "r01-0001", round: 1, position: 1, service: "svc", server: "s", framework: "f",
		python: "3.13", base: "debian", package: null, scenario: "json", method: "GET", path: "/json", body: null,
		tool: "wrk", level: "c64", connections: 64, count: null, rate: null, duration_s: 5.0, timeout_s: 10.0, threads: 1,
		warmup_s: 1.0, dir: "raw/cell"} + $change'
}

# plan CHANGE: writes that line as the step.
plan() { line "$1" | write_step; }

command_of() {
	plan "$1"
	"$measure" command "$run_dir"
}

# tool_json FILTER [DIR]
tool_json() { jq -r "$1" "${2:-$dir}/tool.json"; }

@test "POST: the body is in a file of the measurement" {
	local post='"method":"POST","path":"/echo","body":"{\"a\":1}"'
	[[ $(command_of "{\"tool\":\"ab\",$post}") == *" -p $dir/request-body -T application/json "* ]]
	[[ $(command_of "{\"tool\":\"hey\",$post}") == *" -m POST -T application/json -D $dir/request-body "* ]]
	[[ $(command_of "{\"tool\":\"vegeta\",\"connections\":null,\"rate\":5,$post}") == *" -body $dir/request-body <<<'POST http://svc:8080/echo'" ]]
	[[ ! -e $dir ]]
	"$measure" run "$run_dir"
	[[ $(<"$dir/request-body") == '{"a":1}' ]]
}

@test "an unexpected error is reported with file and line, and status 1" {
	plan '{}'
	PROC_ROOT=$BATS_TEST_TMPDIR/no-proc run -1 "$measure" run "$run_dir"
	[[ ${lines[-1]} =~ ^measure:\ kernel_counters\.py:[0-9]+:\ FileNotFoundError:\ .*no-proc/stat ]]
	[[ ! -e $dir/tool.json && ! -e $dir/output.txt ]]
}

@test "BENCH_DEBUG=1 traces, and changes no result" {
	plan "{$knee}"
	BENCH_DEBUG=1 run -0 --separate-stderr "$measure" command "$run_dir"
	[[ $output == 'vegeta-attack -rate 500 '* && ${#lines[@]} -eq 1 ]]
	# shellcheck disable=SC2154 # bats sets it
	[[ $stderr == *'+ task.py:'* ]]
	BENCH_DEBUG=1 run -12 "$measure" run "$run_dir"
	[[ ${lines[-1]} == 'measure: no rate was found for '* ]]
}

@test "run: output, command, times, counters and limits are saved" {
	mkdir -p "$BATS_TEST_TMPDIR/cgroup" "$BATS_TEST_TMPDIR/proc/pressure"
	touch "$BATS_TEST_TMPDIR/cgroup/cgroup.controllers"
	printf 'usage_usec 5\nnr_throttled 0\n' >"$BATS_TEST_TMPDIR/cgroup/cpu.stat"
	printf 'cpu  1 2 3\n' >"$BATS_TEST_TMPDIR/proc/stat"
	printf 'cpu%d 1 2 3\n' {0..12} >>"$BATS_TEST_TMPDIR/proc/stat"
	mkdir "$BATS_TEST_TMPDIR/proc/self" && printf 'Cpus_allowed:\t1\nCpus_allowed_list:\t1,3-4\n' >"$BATS_TEST_TMPDIR/proc/self/status"
	printf 'some avg10=0.00 total=7\n' >"$BATS_TEST_TMPDIR/proc/pressure/cpu"
	mkdir -p "$BATS_TEST_TMPDIR/proc/sys/net/ipv4" && echo '1024	65535' >"$BATS_TEST_TMPDIR/proc/sys/net/ipv4/ip_local_port_range"
	plan '{}'
	ulimit -Sn 900
	CGROUP_ROOT=$BATS_TEST_TMPDIR/cgroup PROC_ROOT=$BATS_TEST_TMPDIR/proc run -0 "$measure" run "$run_dir"
	[[ $(<"$dir/output.txt") == $'out: -t 1 -c 64 -d 5s --timeout 10s --latency http://svc:8080/json\nerr' ]]
	[[ $(tool_json '.argv | join(" ")') == 'wrk -t 1 -c 64 -d 5s --timeout 10s --latency http://svc:8080/json' ]]
	[[ $(tool_json '[.schema, .tool, .tool_version, .exit_status, .stdin] | tojson') == '[1,"wrk","debian/4.1.0",0,null]' ]]
	[[ $(tool_json '.end_ns >= .start_ns and .start_ns > 1.6e18') == true ]]
	[[ $(tool_json '.after.loadgen["cpu.stat"]') == $'usage_usec 5\nnr_throttled 0' ]]
	[[ $(tool_json '.before.missing.loadgen["memory.peak"]') == 'cannot read '* ]]
	[[ $(tool_json '.before | .proc_stat, .pressure_cpu') == $'cpu  1 2 3\nsome avg10=0.00 total=7' ]]
	[[ $(tool_json '.before.proc_stat_own') == $'cpu1 1 2 3\ncpu3 1 2 3\ncpu4 1 2 3' ]]
	[[ $(tool_json '.limits.nofile') == 900 ]]
	[[ $(tool_json '.sysctls["net.ipv4.ip_local_port_range"]') == $'1024\t65535' ]]
	[[ $(tool_json '.sysctls.missing["net.ipv4.tcp_tw_reuse"]') == 'cannot read '* ]]
	[[ $(tool_json '.health_after | tojson') == '{"status":200,"time_s":0.001,"error":null}' ]]
	[[ -z $(find "$dir" -name '.*.tmp') ]]
}

@test "run: records how long the tool's threads waited for a CPU, and which CPUs there are" {
	# #!/bin/bash rather than env, so that the process is named wrk.
	# shellcheck disable=SC2016 # expanded in it
	printf '%s\n' '#!/bin/bash' '[[ $1 == -v ]] || { for i in {1..20}; do sleep 0.05; done; echo out; }' >"$bin/wrk"
	plan '{}'
	run -0 "$measure" run "$run_dir"
	[[ $(tool_json '.waits | (.waited_ns | tonumber) >= 0 and (.threads | tonumber) >= 1') == true ]]
	[[ $(tool_json '.start_ns < (.waits.seen_ns | tonumber) and .end_ns >= (.waits.seen_ns | tonumber)') == true ]]
	[[ $(tool_json '[.limits.cpus, .limits.host_cpus] | map(tonumber >= 1) | all') == true ]]
	# The watcher has ended.
	run -1 pgrep --full "measure run $run_dir"
}

@test "run: vegeta's results are saved, with both reports" {
	plan '{"tool":"vegeta","rate":5,"connections":null}'
	run -0 "$measure" run "$run_dir"
	[[ $(<"$dir/results.bin") == 'target: GET http://svc:8080/json' ]]
	[[ $(<"$dir/output.json") == 'report json' && $(<"$dir/output.txt") == $'attack err\nreport text' ]]
	[[ $(jq -c '[.requests, .rate, .workers, .lag_s]' "$dir/lag.json") == '[0,5.0,55,null]' ]]
	[[ $(jq -c .ns "$dir/latencies.json") == '[]' ]]
	[[ $(tool_json '[.tool_version, .stdin] | join(" ")') == '12.13.0 GET http://svc:8080/json' ]]
}

# pretend_capacity CAPACITY: a fake vegeta, whose server answers in 2 ms up to CAPACITY requests/s, and in 80 ms above.
pretend_capacity() {
	pretend vegeta <<-EOS
		case \$1 in
		-version) echo "Version: v12.13.0" ;;
		*)
			read -r rate seconds <"\${!#}"
			took=\$((rate <= $1 ? 2000000 : 80000000))
			;;&
		encode)
			awk -v rate="\$rate" -v n="\$((rate * seconds))" -v took="\$took" 'BEGIN {
				for (i = 0; i < n; i++) printf "%.0f,200,%d,0,1,,,,%d,GET,u,\n", i * 1e9 / rate, took, i }' ;;
		report)
			jq -nc --argjson n "\$((rate * seconds))" --argjson rate "\$rate" --argjson took "\$took" '
				{latencies: {mean: \$took, min: \$took, max: \$took, "50th": \$took, "90th": \$took, "95th": \$took, "99th": \$took},
				 bytes_in: {total: 0}, duration: ((\$n - 1) * 1000000000 / \$rate | floor), wait: \$took, requests: \$n,
				 rate: \$rate, throughput: \$rate, success: 1, status_codes: {"200": \$n}, errors: []}' ;;
		esac
	EOS
	# shellcheck disable=SC2016 # expanded in it
	pretend vegeta-attack <<<'echo "$2 ${4%s}"'
}

knee='"tool":"vegeta","connections":null,"warmup_s":0,"knee_p99_s":0.05,"dir":"raw/r01/0001/json/vegeta-knee-p99-50ms/w1/svc"'

@test "prepare: finds the knee and saves every trial; run loads at the knee" {
	pretend_capacity 700
	plan "{$knee}"
	local found=$run_dir/raw/r01/0001/json/vegeta-knee-p99-50ms/w1/svc
	run -0 "$measure" prepare "$run_dir"
	[[ $(ls "$found/trials") == $'01-500-10\n02-1000-5\n03-1000-5\n04-707-8\n05-707-8\n06-595-9\n07-649-8\n08-677-8\n09-707-8' ]]
	[[ $(jq -c '[.rate, .seconds, .reason, (.trials | length)]' "$found/knee.json") == '[677,8,null,9]' ]]
	[[ $(cd "$found/trials/01-500-10" && echo *) == 'host.json lag.json latencies.json output.json output.txt results.bin' ]]
	run -0 "$measure" run "$run_dir"
	[[ $(tool_json '.argv | join(" ")' "$found") == 'vegeta-attack -rate 677 -duration 8s '* && -e $found/trials/08-677-8/results.bin ]]
}

@test "prepare: a later round uses the rate of the first one, and ignores trials of an interrupted search" {
	pretend_capacity 600
	local first=$run_dir/raw/r01/0001/json/vegeta-knee-p99-50ms/w1/svc
	local later=${first/r01/r02}
	plan "{$knee}"
	mkdir -p "$first/trials/99-9000-3"
	run -0 "$measure" prepare "$run_dir"
	[[ ! -e $first/trials/99-9000-3 ]]
	plan "{${knee/r01/r02}}"
	run -0 "$measure" prepare "$run_dir"
	[[ $(jq -c '[.rate, .found_in]' "$later/knee.json") == "[$(jq .rate "$first/knee.json"),\"r01\"]" && ! -e $later/trials ]]
	plan "{${knee/vegeta-knee/vegeta-knee50},\"knee_share\":0.5}"
	run -0 "$measure" prepare "$run_dir"
	[[ $(jq .rate "${first/knee/knee50}/knee.json") == "$(jq '.rate * 0.5 | floor' "$first/knee.json")" ]]
}

@test "prepare: a share without a knee, and a trial that fails, give one line and status 12" {
	pretend_capacity 600
	plan "{$knee,\"knee_share\":0.5}"
	run -12 "$measure" prepare "$run_dir"
	[[ ${lines[-1]} == 'measure: this level is a share of a knee, but none of json was found in this run' ]]
	pretend vegeta-attack <<<"exit 1"
	plan "{$knee}"
	run -12 "$measure" prepare "$run_dir"
	[[ ${lines[-1]} == 'measure: vegeta ended with status 1 in a trial of 500/s' ]]
}

@test "run: a tool that hangs when asked for its version does not block" {
	pretend wrk <<<"[[ \$1 != -v ]] || sleep 600"
	plan '{}'
	run -0 timeout 300 "$measure" run "$run_dir"
	[[ $(tool_json .tool_version) == null ]]
}

@test "run: the tool gets the host's address, so that no connection asks the resolver" {
	# shellcheck disable=SC2016 # expanded in it
	pretend getent <<<'echo "198.18.0.7     STREAM $2"; echo "198.18.0.7     DGRAM"'
	plan '{"tool":"vegeta","rate":5,"connections":null}'
	run -0 "$measure" run "$run_dir"
	[[ $(<"$dir/results.bin") == 'target: GET http://198.18.0.7:8080/json' ]]
	plan '{}'
	run -0 "$measure" prepare "$run_dir"
	[[ $("$measure" command "$run_dir") == *http://svc:8080/json ]]
}

@test "run: a missing tool counts as a failure of the load tool" {
	local name
	rm "$bin/hey"
	for name in bash env prlimit timeout; do
		ln -s "$(type -P "$name")" "$bin/"
	done
	# By a link, Python would not find its packages.
	pretend python3 <<<"exec '$(type -P python3)' \"\$@\""
	plan '{"tool":"hey"}'
	PATH=$bin run "$measure" run "$run_dir"
	[[ $status == 12 ]]
	[[ $(tool_json .exit_status) == 127 && $(<"$dir/output.txt") == *hey* ]]
}

@test "run: files of an earlier attempt are not mistaken for this one's" {
	mkdir -p "$dir" && echo old | tee "$dir/tool.json" "$dir/output.txt" >"$dir/results.bin"
	pretend wrk <<<"[[ \$1 == -v ]] || { kill -KILL \$PPID && sleep 1; }"
	plan '{}'
	run -12 "$measure" run "$run_dir"
	[[ $(tool_json .exit_status) == 137 && ! -s $dir/output.txt && ! -e $dir/results.bin ]]
}

@test "run: an unwritable folder is reported before the load" {
	pretend wrk <<<"touch '$BATS_TEST_TMPDIR/ran'"
	plan '{}'
	mkdir -p "$dir" && mkdir "$dir/.tool.json.tmp"
	run -12 "$measure" run "$run_dir"
	[[ $output == "measure: cannot write 64 KiB to $dir" && ! -e $BATS_TEST_TMPDIR/ran ]]
}

@test "prepare: a server error during the start is retried" {
	pretend curl <<-EOS
		[[ -e '$BATS_TEST_TMPDIR/up' ]] && status=200 || status=503
		touch '$BATS_TEST_TMPDIR/up'
		printf '%s\n' '' "\$status 0.001 0.001" >&2
	EOS
	plan '{"warmup_s":0}'
	run -0 "$measure" prepare "$run_dir"
	[[ $output == ready* ]]
}

@test "a curl that cannot run is not taken for a wrong answer of the service" {
	pretend curl <<<'echo "curl: bad interpreter" >&2; exit 127'
	plan '{}'
	READY_TIMEOUT=1 run -10 "$measure" prepare "$run_dir"
	[[ $output == 'measure: http://svc:8080/json gave no answer in 1 s: curl: bad interpreter' ]]
	run -0 "$measure" run "$run_dir"
	[[ $(tool_json '.health_after | tojson') == '{"status":null,"time_s":null,"error":"curl: bad interpreter"}' ]]
}

@test "run: reports that cannot be saved count as a failure of the load tool; existing files stay" {
	pretend vegeta <<-'EOS'
		case $1 in
		-version) echo "Version: v12.13.0" ;;
		report) [[ $2 == *text ]] && echo "report text" || { echo "no space left" >&2 && exit 1; } ;;
		esac
	EOS
	pretend vegeta-attack <<<cat
	plan '{"tool":"vegeta","rate":5,"connections":null}'
	run -12 "$measure" run "$run_dir"
	[[ ${lines[-1]} == 'measure: the reports of vegeta could not be saved: '* ]]
	[[ -s $dir/results.bin && -s $dir/lag.json && $(tool_json .exit_status) == 0 ]]
	[[ $(<"$dir/output.txt") == $'no space left\nreport text' ]]
}
