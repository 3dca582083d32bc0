#!/usr/bin/env bash
#
# Usage: scripts/matrix.sh [--setup] [--preset NAME] [SELECTION...]
#        scripts/matrix.sh --app FOLDER MODULE:CALLABLE [SELECTION...]
#        scripts/matrix.sh --again RUN [SELECTION...] | --resume RUN [--max-time MINUTES]
#
# Measures a part of the matrix: builds its services, checks each against the contract, loads them in
# fresh containers, saves the tools' raw output under results/RUN and writes index.html and report.md
# there. Prints report.md's path; a summary and progress go to standard error (on a terminal, progress is one line,
# and NO_COLOR turns colors off). Warns at the start of what may prevent an answer; says at the end how to get a clearer answer.
#
#   --list WHAT           print all names with their meaning, without Docker. WHAT: presets, stacks, servers, frameworks, pythons,
#                         bases, scenarios, tools, levels, knobs, events, services
#   --preset NAME         a named selection, which other options narrow, or add to by name. Without it: quick if nothing
#                         is selected; bad-day with --event; else every stack of the default Python that matches
#   --stack --framework --server --python --base --scenario --tool    globs or names, separated by commas; --python and
#                         --base default to the default ones ('*': all). Globs do not match development servers
#                         (docs/catalogue.md): name them (--server werkzeug)
#   --level LIST          64 (connections), c64close (a new one for each request), r500 (requests/s), knee:p99=50ms (the highest
#                         rate within that p99), ... (--list levels)
#   --package SPEC        a package version: NAME==X, a wheel, an sdist, a source folder, PATH@REF or git+file:///PATH@REF of
#                         a repository, or a ladder of releases (NAME==21.*,22.* or NAME==last:10). A single one is compared
#                         with the locked version; of several, the first is the base (docs/packages.md)
#   --with SPEC           a version of another package, changed together with each --package: --package werkzeug==3.2
#                         --with flask==3.2; repeat the option for further ones
#   --vary NAME=V,V,...   each service once with each value of a knob: WORKERS, THREADS, KEEPALIVE, GRACEFUL and
#                         TIMEOUT (seconds), DB_POOL_TOTAL, BACKLOG, PYTHON_JIT, CPU_QUOTA (CPUs), MEMORY, or a
#                         variable that server or app reads; repeat the option for all combinations
#   --flags 'SERVER: FLAGS'    each service of a server (a name or glob) without and with these flags at the end of its
#                         command line, such as 'uvicorn: --http h11'; repeat the option for further ones
#   --event LIST          reload, stop, stop-streams, killed, hung, recycle, rolling, idle-close, overload, slow, connections,
#                         exhausted (threads, database connections), abandoned, away (database or upstream): requests lost to
#                         that event, in place of a load (docs/events.md); memory, balance: memory growth, and how work is shared
#                         among workers; or a single case: slow-silent, away-database-stopped; memory:1 in the first round only.
#                         A whole event has the cases and rounds of --preset bad-day
#   --mode MODE           turns (default): services take turns on the CPU and are ranked; solo: each service
#                         alone, without verdicts
#   --controls WHICH      null (default): also measure the null server, which shows what each tool can do here; or none
#                         (skips the checks that need it, and latency)
#   --max-time MINUTES    stop measuring after this time; rankings come first, and the report says what is missing
#   --duration SECONDS    load of each cell that is measured alone; for the event memory, the longest time (10)
#   --rounds N  --seed N  passes over all cells, each in its own random order; for rankings, the maximum
#   --no-latency          do not measure latency: skip the loads at a common rate that follow a ranking
#   --profile             after the tables, sample their services under load: where the CPU time goes (docs/profiles.md)
#   --list                print the cells of the selection and the estimated time; before scripts/setup.sh has run, its stacks
#   --dry-run             print every command line of the load tools; run nothing
#   --app FOLDER MODULE:CALLABLE    your own app on every server that can host it (docs/own-app.md); its options:
#                         --interface --requirements --apt --targets --expect --env-file --before --compose FILE[:SERVICE,...]
#                         --cpu-hour-price --p99
#   --target URL          a server that is already running, alone (http://127.0.0.1:8000/path) or as one more row, with https
#                         always alone (docs/own-app.md); on another machine it needs --i-own-this-target
#   --resume RUN          resume an interrupted run (docs/reliability.md): repeat only what has no complete
#                         record, and retry services that failed, unless they gave wrong answers
#   --again RUN           repeat a run with its selection, settings, seed and locks; given options and exported settings
#                         override them. Prints first what differs now (commit, engine, machine, images, packages)
#   --swarm               measure on the nodes of a Docker swarm that have roles (scripts/swarm.sh, docs/several-machines.md)
#   --server-context CONTEXT --loadgen-context CONTEXT --server-address ADDRESS
#                         measure on two machines without a swarm: Docker contexts or ssh://USER@HOST, and the address of
#                         the server's machine on which to publish ports (docs/several-machines.md)
#   --quiet               print only errors
#   --setup               prepare the machine first (scripts/setup.sh --setup)
#
# Exit status: 0: measured, although services may have failed (the report names them); 1: nothing was measured, or
# the run could not go on; 2: something that you can fix, such as an option; 130: interrupted, and --resume continues.
#
# BENCH_DEBUG=1 traces every command.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

usage_if_asked "$@"
act matrix "$@"
