#!/usr/bin/env bash
# The name of scripts/add-baseline.sh before.
exec "${BASH_SOURCE[0]%/*}/add-baseline.sh" "$@"
