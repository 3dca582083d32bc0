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

# Runs inside the image; its parts, separated by form feeds, list what that image has.
# shellcheck disable=SC2016 # the image's shell expands it
packages='cat /etc/os-release; printf "\f"
	if command -v dpkg-query >/dev/null; then
		dpkg-query --show --showformat "\${db:Status-Abbrev}\t\${Package}\t\${Version}\t\${Architecture}\n" | sed -n "s/^ii *\t//p"
	else
		awk -F: "/^P:/ { name = \$2 } /^V:/ { version = \$2 } /^A:/ { print name \"\t\" version \"\t\" \$2 }" /lib/apk/db/installed
	fi; printf "\f"
	! command -v python3 >/dev/null || python3 -c "import importlib.metadata as m
for one in m.distributions(): print(one.metadata[\"Name\"], one.version, sep=\"\t\")"; printf "\f"
	grep -ahE "^(mod|dep)[[:blank:]][^[:blank:]]+[[:blank:]]v[0-9]" /usr/local/bin/* 2>/dev/null | cut -f 2,3 || true'

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
