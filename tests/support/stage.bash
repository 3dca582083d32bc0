#!/usr/bin/env bash
#
# Usage: tests/support/stage.bash STAGE FOLDER
#
# Runs one stage of scripts/test.sh, with its log in FOLDER. FOLDER/STAGE.passed exists only if it passed.
set -Eeuo pipefail
# shellcheck source=tests/lib/testing.sh
source "${BASH_SOURCE[0]%/*}/../lib/testing.sh"
trap_errors
find_docker

stage=$1 logs=$2 status=0
"test_${stage//-/_}" || status=$?
((status != 0)) || touch "$logs/$stage.passed"
