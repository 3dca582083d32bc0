# shellcheck shell=bash
# Runs that ended without taking their containers and networks away. Only declares.
# shellcheck disable=SC2154 # what engine.sh finds

# remove_dead_runs: what a reboot or a killed daemon leaves of runs, none of whose containers is up any more: their
# network keeps the subnet. One made within the last ten seconds may belong to a run that is just starting.
remove_dead_runs() {
	local key=com.docker.compose.project name made
	while IFS=$'\t' read -r name made; do
		[[ $name == bench* && -z $("$docker" ps --quiet --filter "label=$key=$name") ]] || continue
		(($(date --date="${made% *}" +%s) < $(date +%s) - 10)) || continue
		say "removing what is left of $name, which is not running any more"
		"$docker" compose --project-name "$name" down --timeout 0 --volumes --remove-orphans >/dev/null 2>&1
	done < <("$docker" network ls --filter label=com.docker.compose.network=bench --format "{{.Label \"$key\"}}\t{{.CreatedAt}}")
}
