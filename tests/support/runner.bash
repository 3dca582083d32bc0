# shellcheck shell=bash
# Runs the output of action_steps.py like a GitHub Actions runner, with the current folder as the workspace. Only declares.

# run_action ACTION_FOLDER TEMPORARY_FOLDER FILE: runs the steps in FILE and writes the outputs as NAME=VALUE lines to
# TEMPORARY_FOLDER/results. Returns the status of the step that failed.
run_action() {
	local -A outputs=()
	local action_path=$1 temporary=$2 action_status=0
	: >"$temporary/results"
	# shellcheck source=/dev/null
	source "$3"
	return "$action_status"
}

# step ID CODE NAME=VALUE...: runs CODE with this environment, unless an earlier step has failed.
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
