#!/usr/bin/env bash
#
# Usage: scripts/publish.sh RUN NAME
#        scripts/publish.sh --rebuild [NAME...]
#
# Copies a run to results/published/NAME in the form that is committed: the files that people read, and
# raw.tar.xz with the raw files and the plan, from which scripts/report.sh rebuilds the rest. RUN is a folder
# under results/, by name or path.
#
#   --rebuild   rebuild report and verdicts of published runs (without NAME: of all) from their raw files, with the rules of
#               this version
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

rebuild() {
	local run
	[[ -s $root/results/published/$1/raw.tar.xz ]] || fail 2 "$1 is not a published run"
	run=results/$(in_tools python3 -m bench find "results/published/$1")
	in_tools python3 -m bench build --quiet "$run"
	rm -rf "$root/results/published/$1"
	"$root/scripts/publish.sh" "$root/$run" "$1"
}

# store_logs FOLDER: rewrites request logs as uncompressed gzip. Readers see no difference, and xz makes them much smaller.
store_logs() {
	python3 - "$1" <<-'EOF'
		import gzip, os, pathlib, sys

		for file in pathlib.Path(sys.argv[1]).rglob("*.tsv.gz"):
		    times = file.stat()
		    text = gzip.decompress(file.read_bytes())
		    file.unlink()
		    file.write_bytes(gzip.compress(text, 0, mtime=0))
		    os.utime(file, (times.st_atime, times.st_mtime))
	EOF
}

case ${1:-} in
-h | --help) usage && exit ;;
--rebuild)
	shift
	need_tools
	names=("$@")
	((${#names[@]})) || mapfile -t names < <(cd "$root/results/published" && printf '%s\n' */ | tr -d /)
	for name in "${names[@]}"; do rebuild "$name"; done
	exit
	;;
esac
(($# == 2)) || fail 2 "a run and a name are needed; see --help"
[[ $2 =~ ^[a-z0-9][a-z0-9-]*$ ]] || fail 2 "name '$2' is not lower-case letters, digits and '-'"
run=$1 published=$root/results/published/$2
[[ -d $run ]] || run=$root/results/$1
[[ -s $run/run.json && -s $run/report.md ]] || fail 2 "'$1' is not a run with a report: build one with scripts/report.sh"
[[ ! -e $published ]] || fail 2 "$published exists already: remove it, or choose another name"

mkdir -p "$root/results/published"
made=$(mktemp -d -p "$root/results/published" .XXXXXX)
trap 'rm -rf "$made"' EXIT
chmod 755 "$made"
packed=(raw plan.jsonl services.yml knobs.env)
for name in sources.json changed-parts.txt; do [[ ! -s $run/$name ]] || packed+=("$name"); done
# Publish the kinds of nodes, but not how to reach them.
[[ ! -s $run/nodes-ever.tsv ]] || awk -F'\t' -v OFS='\t' '{ $3 = $4 = "-"; print }' "$run/nodes-ever.tsv" >"$made/nodes-ever.tsv"
for name in run.json report.md verdicts.jsonl selftest.md; do
	if [[ $name == verdicts.jsonl && -s $run/$name ]] && (($(stat -c %s "$run/$name") > 1 << 20)); then
		packed+=("$name") # one line per pair of services: megabytes if there are many services
	elif [[ -s $run/$name ]]; then
		cp "$run/$name" "$made/"
	fi
done
# Make the paths of an own app inside this project relative.
sed -i "s|\"$root/|\"|; s|\"$root\"|\"\"|" "$made/run.json"
# The resolved Compose file and the build logs are left out: they contain paths of this machine.
mkdir "$made/.packed"
if ! { cp --archive "${packed[@]/#/$run/}" "$made/.packed/" && store_logs "$made/.packed" &&
	tar --create --directory "$made/.packed" --sort=name --owner=0 --group=0 --numeric-owner "${packed[@]}" | xz -9 --threads=0 >"$made/raw.tar.xz"; }; then
	fail 1 "the raw files cannot be packed; the lines above say why"
fi
rm -rf "$made/.packed"
mv "$made" "$published"
say "$published"
