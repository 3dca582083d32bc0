# shellcheck shell=bash
# One load: what the step file says of it, and the command line of its tool.
#
# LOAD  the load, by the keys below and BODY_FILE; a search for a knee changes its RATE, DURATION and DEADLINE
# ARGV  the command line, and
# STDIN what the tool reads; both set by the adapter's command verb

declare -a ARGV=()
declare STDIN=''

# Every key of a load in step.sh: times are in seconds, whole numbers have no fraction, '' is what the plan leaves out.
LOAD_KEYS=(ID DIR URL METHOD BODY REQUESTS TARGETS TOOL CONNECTIONS COUNT RATE RATE_PER_CONNECTION DURATION TIMEOUT THREADS WARMUP
	KEEPALIVE DEADLINE KNEE_P99 KNEE_SHARE)

# need_load RUN_DIR ARRAY: fails unless RUN_DIR/step.sh, which the caller has sourced, has set this associative array with all of
# its keys.
need_load() {
	local file=$1/step.sh key
	[[ $2 =~ ^[A-Za-z0-9_]+$ && $(declare -p "$2" 2>/dev/null) == 'declare -A'* ]] || fail 2 "$file has no $2"
	local -n from=$2
	for key in "${LOAD_KEYS[@]}"; do [[ -v from[$key] ]] || fail 2 "$file has no $key in $2"; done
}

# take_load RUN_DIR [NAME]: sets LOAD to the step's load, or to the one of this name.
take_load() {
	local name=LOAD${2:+_$2} key
	need_load "$1" "$name"
	local -n from=$name
	declare -gA LOAD
	for key in "${LOAD_KEYS[@]}"; do LOAD[$key]=${from[$key]}; done
	[[ ${LOAD[TOOL]} =~ ^[a-z]+$ && -r $HERE/adapters/${LOAD[TOOL]} ]] || fail 2 "unknown tool '${LOAD[TOOL]}' in $1/step.sh"
	[[ -n ${LOAD[TIMEOUT]} ]] || fail 2 "$1/step.sh has an empty TIMEOUT in $name"
	LOAD[DIR]=$1/${LOAD[DIR]}
	LOAD[BODY_FILE]=${LOAD[BODY]:+${LOAD[DIR]}/request-body}
	take_headers "$1"
}

# take_headers RUN_DIR: sets HEADERS, as every tool takes them; for a user's own app its folder of REQUESTS has them, and the
# body of the first one.
take_headers() {
	local line
	HEADERS=()
	if [[ ${LOAD[REQUESTS]} ]]; then
		LOAD[REQUESTS]=$1/${LOAD[REQUESTS]}
		while read -r line; do HEADERS+=(-H "$line"); done <"${LOAD[REQUESTS]}/headers"
		[[ ! -e ${LOAD[REQUESTS]}/body-1 ]] || LOAD[BODY_FILE]=${LOAD[REQUESTS]}/body-1
	elif [[ ${LOAD[BODY]} ]]; then
		HEADERS=(-H 'Content-Type: application/json')
	fi
}
HEADERS=()

# adapter VERB [ARGUMENT...]: the verb (version, command, run, save or merge) of the load's tool.
adapter() { "${LOAD[TOOL]}_$1" "${@:2}"; }

# report VERB ARGUMENT...: the part of the work that is Python's.
report() { PYTHONPATH=$HERE/.. python3 -m bench "$@"; }

cannot() { fail 2 "${LOAD[TOOL]} cannot $*"; }

# need_whole KEY...: fails unless these values of the load are whole numbers from 1: the tool takes no others.
need_whole() {
	local key
	for key in "$@"; do
		[[ ${LOAD[$key]} =~ ^[1-9][0-9]*$ ]] || cannot "take a ${key,,} of '${LOAD[$key]}': whole numbers from 1 only"
	done
}

# Fails unless there is either a duration or a count, and a count is enough for all connections.
need_duration_or_count() {
	local count=${LOAD[COUNT]} connections=${LOAD[CONNECTIONS]}
	need_whole CONNECTIONS
	[[ -n ${LOAD[DURATION]}$count && (-z ${LOAD[DURATION]} || -z $count) ]] || cannot "do both or neither of a duration and a count"
	[[ -n $count ]] || return 0
	need_whole COUNT
	((count >= connections)) || cannot "make $count requests on $connections connections: at least one for each"
}

# The command as one would type it.
print_command() {
	local line
	printf -v line '%q ' "${ARGV[@]}"
	echo "${line% }${STDIN:+ <<<${STDIN@Q}}"
}
