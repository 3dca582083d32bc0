# shellcheck shell=bash
# Both containers of a pair, and the second one's Compose file. Only declares; works on what measure_pair (duet.sh) sets.
# shellcheck disable=SC2154,SC2034 # what duet.sh sets, and what it reads

# start_pair A B: fresh containers of both and of the load generator. Sets `pid`, `image` and `address`.
start_pair() {
	local format='{{.State.Pid}} {{.Image}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}'
	choose_databases
	describe_second "$2" >"$run_dir/second.yml"
	run_compose --file "$run_dir/second.yml" up --detach --no-deps --no-build --force-recreate --timeout 0 "$1" second loadgen >"$(start_log "$1")" 2>&1 &&
		read -r "pid[a]" "image[a]" "address[a]" < <("$docker" inspect --format "$format" "$project-$1-1") &&
		read -r "pid[b]" "image[b]" "address[b]" < <("$docker" inspect --format "$format" "$project-second-1")
}

# choose_databases: sets `database`. Where answers need one, each side has its own, to be charged with its CPU time; which
# of the two is drawn by the seed, as is the side that starts first.
choose_databases() {
	local line
	line=$(grep -F "\"$unit-1a\"" "$run_dir/plan.jsonl")
	[[ $line == *'"database": true'* ]] || return 0
	database=([a]=postgres [b]=postgres2)
	[[ $line == *'"slot": 1'* ]] || database=([a]=postgres2 [b]=postgres)
}

# describe_second NAME: the Compose file of B's container. To the side with the second database that is `postgres`.
describe_second() {
	local hosts
	hosts="    extra_hosts: ['postgres:$(address_of postgres2)']"
	printf '%s\n' services: '  second:' "    extends: {file: compose.yml, service: $1}"
	[[ ${database[b]:-} != postgres2 ]] || echo "$hosts"
	[[ ${database[a]:-} != postgres2 ]] || printf '%s\n' "  $a:" "$hosts"
}
