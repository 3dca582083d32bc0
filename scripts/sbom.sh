#!/usr/bin/env bash
#
# Usage: scripts/sbom.sh [SERVICE...]
#
# Writes a software bill of materials (SBOM) of each service's image to results/sbom/SERVICE.cdx.json, as CycloneDX
# JSON: Debian or Alpine packages, Python packages and Go modules, as listed by the image's package databases and
# binaries. It misses what a wheel or a binary bundles without declaring it. Without SERVICE: loadgen, postgres and
# upstream.
#
# The images must be built already (scripts/verify.sh SERVICE builds one). Runs in the tests' image, and builds that
# if necessary.
set -Eeuo pipefail
# shellcheck source=tests/lib/testing.sh
source "${BASH_SOURCE[0]%/*}/../tests/lib/testing.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
-*) fail_unknown "$1" ;;
esac
(($#)) || set -- "${harness[@]}"

packages=$(<"$root/tests/sbom/list.sh")
need_tools
build_tests
for service; do
	"$docker" image inspect "bench/$service" >/dev/null 2>&1 || fail 2 "there is no image bench/$service: scripts/verify.sh $service builds it"
done
for service; do
	{
		"$docker" image inspect "bench/$service" && printf '\f'
		"$docker" run --rm --network none "${confined[@]}" --memory 512m --ulimit nofile=16384 --entrypoint '' "bench/$service" sh -c "$packages"
	} | in_tests python3 -m tests.sbom "$service" | save "$root/results/sbom/$service.cdx.json"
done
