# shellcheck shell=bash
# The engine of the measuring loop (see measure.sh) where `docker-compose up bench` has started all containers, and this is in
# one of them: there is no Docker socket, so that no container is fresh and memory is null, with that reason. CPU time in turns
# comes from the host's cgroup file system, mounted read-only (bench/load/discover.py). Only declares.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

bench() { python3 -m bench "$@"; }
in_loadgen() { "$@"; }

revive_dependencies() { :; }
note_ended() { :; }
revive_and_ask_again() { :; }
start_service() { :; }
stop_service() { :; }
start_log() { :; }
is_running() { :; }
save_provenance() { :; }

# shellcheck disable=SC2034 # block_up is block.sh's
start_block() { block_up=("$@"); }
pin_block() { :; }
# Without the Docker socket nothing can be frozen: the load tools end within their last turns.
open_freezer() { :; }
close_freezer() { :; }
stop_block() { :; }
# shellcheck disable=SC2034 # block_ended is block.sh's
look_at_block() { block_ended=(); }
save_block_states() { for service in "${@:3}"; do server_state "$service" | save "$2/$service.$1"; done; }

server_log() { echo "see: docker-compose logs $1"; }
server_state() { echo "null no Docker socket is mounted: the counters of other containers cannot be read"; }
dependency_state() { server_state "$1"; }
service_limits() { echo "null no Docker socket is mounted: the limits of other containers cannot be read"; }
save_idle() { server_state "$1" | save "$run_dir/raw/services/$1/idle.txt"; }
