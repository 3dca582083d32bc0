# shellcheck shell=bash
# The variables that the files of the measuring loop share, each with the one function that sets it. Only declares.
# shellcheck disable=SC2034 # those who source this read them

# open_run: the run's name, folder and Compose project; from its services.sh all that begins with a capital.
run='' run_dir='' project=''
SERVICES=() DEPENDENCIES=()
OWN_APP='' OWN_FOLDER='' OWN_ENV_FILE='' OWN_BEFORE='' OWN_VARIABLES=()
own_values=()
declare -gA IMAGE_OF=() BUILD_OF=() SETTINGS_OF=() BASE_OF=() FRAMEWORK_OF=() WAITS_OF=() ROUTES_OF=() TARGET_OF=()

# open_run, from knobs.env: how many load generators share the load of each cell
LOADGENS=1

# measure_step, from the run's step.sh; the load generators that share it, where they are several; `facts` is what it saves for Python to record, `key=value` each.
STEP_ID='' STEP_MODE='' STEP_DIR='' STEP_SERVICES=() STEP_CLIENTS=()
facts=()

# start_service
server_pid='' image_id='' started_ns=''

# start_block: first processes by service, and the services that have started
declare -gA block_pid=()
block_up=()

# look_at_block: what Docker says of each, and the services that have ended
declare -gA block_state=()
block_ended=()

# find_dependencies, by name; revive_dependencies: those that it started again
declare -gA dependency_pid=()
revived=()

# check_shutdown: a container's exit status
stopped=''

# From step.sh: whether its load comes from the host's network, and whether it needs the knees that were found; start_host_loadgen: the load
# generator's container that commands run in.
STEP_HOST_NETWORK='' STEP_KNEE='' loadgen=loadgen

# open_nodes: not empty where the run is on several machines (swarm, or contexts: two without one). Of two, where the load
# generator reaches a service, and the reader of a role's counters.
several=''
declare -gA address_of=() reader_at=()
declare -gA node_of=()

# choose_lanes: how many steps are made side by side, each on nodes of its own; enter_lane: where this shell's has its files, below the
# run's folder (empty: the first one's, in that folder itself).
lanes=1 lane=''

# know_machines: on several machines, whether server and load generator are on two kernels (yes or no)
apart=''

# time_is_up: not empty where the time ended the measuring.
timed_out=''

# profile_tables: not empty while the services under load are sampled.
sampling=''

# The exit status of the verifier where every failed check was an answer that came too late.
only_late=3

# The status of a service that gave no answer, as loadgen/measure has it.
did_not_start=10
