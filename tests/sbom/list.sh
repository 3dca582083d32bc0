# shellcheck shell=sh
# Runs inside an image and prints what it has: operating system, its packages, Python packages, Go modules; separated by form feeds.
# image.py reads it.
set -eu

cat /etc/os-release
printf '\f'
if command -v dpkg-query >/dev/null; then
	known=$(dpkg-query --show --showformat '${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n')
	printf '%s\n' "$known" | sed -n 's/^ii *\t//p'
else
	awk -F: '/^P:/ { name = $2 } /^V:/ { version = $2 } /^A:/ { print name "\t" version "\t" $2 }' /lib/apk/db/installed
fi
printf '\f'
! command -v python3 >/dev/null || python3 -c 'import importlib.metadata as m
for one in m.distributions(): print(one.metadata["Name"], one.version, sep="\t")'
printf '\f'
grep -ahE '^(mod|dep)[[:blank:]][^[:blank:]]+[[:blank:]]v[0-9]' /usr/local/bin/* 2>/dev/null | cut -f 2,3 || true
