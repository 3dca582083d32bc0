#!/usr/bin/env bash
#
# Usage: scripts/matrix.sh [--setup] [--preset NAME] [SELECTION...]
#        scripts/matrix.sh --app FOLDER MODULE:CALLABLE [SELECTION...]
#        scripts/matrix.sh --again RUN [SELECTION...] | --resume RUN [--max-time MINUTES]
#
# Measures a part of the matrix: builds its services, checks each against the contract, loads them in
# fresh containers, saves the tools' raw output under results/RUN and writes index.html and report.md
# there. Prints report.md's path; the answer in short and progress go to standard error (in place on a terminal;
# NO_COLOR). What may keep the run from an answer is said before it begins, and at its end what would help.
#
#   --list WHAT           print all names and what they mean; run nothing. WHAT: presets, stacks, servers, frameworks, pythons,
#                         bases, scenarios, tools, levels, knobs, events, services
#   --preset NAME         a named selection (quick); what follows narrows it, or widens it by name
#   --stack --framework --server --python --base --scenario --tool    globs, and lists with commas; without
#                         --python and --base the default ones ('*': all). Development servers (docs/catalogue.md)
#                         are left out behind a glob: name them (--server werkzeug)
#   --level LIST          64 (connections), r500 (requests/s), knee:p99=50ms (the highest rate that holds), ... (--list levels)
#   --package SPEC        a package's version: NAME==X, a wheel, an sdist, a source folder, PATH@REF or git+file:///PATH@REF of
#                         a repository, or a ladder of releases (NAME==21.*,22.* or NAME==last:10). One is compared with
#                         the locked version; repeated, the first is the base (docs/packages.md)
#   --vary NAME=V,V,...   each service once with each value of a knob: WORKERS, THREADS, KEEPALIVE, GRACEFUL and
#                         TIMEOUT (seconds), DB_POOL_TOTAL, BACKLOG, PYTHON_JIT, CPU_QUOTA (CPUs), MEMORY, or a
#                         variable that server or app reads; repeated, with every combination
#   --event LIST          reload, stop, killed, hung, recycle, rolling, idle-close, overload, slow, connections, exhausted (threads,
#                         database connections), away (database or upstream): what that costs in lost requests, in place of a load
#                         (docs/events.md); memory, balance: what a service keeps, and how it shares work among its workers; or a
#                         case: slow-silent, away-database-stopped; memory:1 in the first round only; --preset bad-day has all
#   --mode MODE           turns (default): services get the CPU in turns, and are ranked; solo: each service
#                         alone, without a verdict
#   --controls WHICH      null (default): the null server, which shows what each tool can do here; or none
#                         (without the checks that need it, and without latency)
#   --max-time MINUTES    stop measuring after so long; rankings come first, and the report says what is open
#   --duration SECONDS    of load for each cell that is measured alone; of the event memory the longest time (30)
#   --rounds N  --seed N  passes over all cells, each in its own random order; of rankings the most
#   --loadgens N          share the load of each cell among so many load generators at once (--mode solo): with --swarm a node for each
#   --no-latency          measure no latency: leave out the loads at a common rate, which follow a ranking
#   --profile             after the tables, sample their services under load: what costs the CPU time (docs/profiles.md)
#   --list                print the cells of the selection and the estimated time; run nothing
#   --dry-run             print every command line of the load tools; run nothing
#   --app FOLDER MODULE:CALLABLE    your own app on every server that can host it (docs/own-app.md); its options:
#                         --interface --requirements --targets --expect --env-file --before --compose
#                         --cpu-hour-price --p99
#   --target URL          a server that already runs, alone (http://127.0.0.1:8000/path) or as one more row
#                         (docs/own-app.md); one that is not on this machine needs --i-own-this-target
#   --resume RUN          resume an interrupted run (docs/reliability.md): repeat only what has no complete
#                         record, and try services again that failed, unless they answered wrongly
#   --again RUN           repeat a run: its selection, settings, seed and locks, but for the options and exported settings
#                         that are given; what differs now (commit, engine, machine, images, packages) is said first
#   --swarm               on the nodes of a Docker swarm that have roles (scripts/swarm.sh, docs/several-machines.md)
#   --server-context CONTEXT --loadgen-context CONTEXT --server-address ADDRESS
#                         on two machines without a swarm: Docker contexts or ssh://USER@HOST, and the one address of the
#                         server's machine on which ports are published (docs/several-machines.md)
#   --quiet               print nothing but errors
#   --setup               make the machine ready first (scripts/setup.sh --setup)
#
# BENCH_DEBUG=1 traces every command.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

for word; do
	[[ $word != -h && $word != --help ]] || { usage && exit; }
done
act matrix "$@"
