# shellcheck shell=bash
# Runs what action_steps.py prints as the runner of GitHub Actions would, in the folder that is the workspace. Only declares.

# run_action ACTION_FOLDER TEMPORARY_FOLDER FILE: the steps in FILE; the outputs are lines NAME=VALUE in TEMPORARY_FOLDER/results. Ends with
# the status of the step that failed.
run_action() {
	local -A outputs=()
	local action_path=$1 temporary=$2 action_status=0
	: >"$temporary/results"
	# shellcheck source=/dev/null
	source "$3"
	return "$action_status"
}

# step ID CODE NAME=VALUE...: unless one before it has failed.
step() {
	local name value
	((action_status == 0)) || return 0
	: >"$temporary/output"
	env "${@:3}" GITHUB_ACTION_PATH="$action_path" GITHUB_OUTPUT="$temporary/output" GITHUB_STEP_SUMMARY="$temporary/summary" \
		bash --noprofile --norc -e -o pipefail -c "$2" || action_status=$?
	# shellcheck disable=SC2034 # the file that run_action sources reads it
	while IFS='=' read -r name value; do outputs[$1.$name]=$value; done <"$temporary/output"
}

result() { printf '%s=%s\n' "$1" "$2" >>"$temporary/results"; }
