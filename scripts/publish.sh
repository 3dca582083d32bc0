#!/usr/bin/env bash
#
# Usage: scripts/publish.sh RUN NAME
#        scripts/publish.sh --rebuild [NAME...]
#
# Copies a run to results/published/NAME in the form that is committed: run.json, an archive of its raw files and its plan
# (raw.tar.xz), and what is made from these: report.md, index.html, verdicts.jsonl, its answers on the front page of
# scripts/site.sh, and the sha256 of its records. RUN is a folder under results/, by name or path. Needs only the load
# generator's image.
#
#   --rebuild   make the latter again for published runs (without NAME: for all), with the rules of this version
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

# store_logs FOLDER: rewrites request logs as uncompressed gzip. Readers see no difference, and xz makes them much smaller. They may
# be somebody else's: what readers would refuse (MAX_BYTES) is not unpacked.
store_logs() {
	python3 -I - "$1" <<-'EOF'
		import gzip, os, pathlib, sys

		most = 64 << 20
		for file in pathlib.Path(sys.argv[1]).rglob("*.tsv.gz"):
		    times = file.stat()
		    with gzip.open(file) as log:
		        text = log.read(most + 1)
		    if len(text) > most:
		        sys.exit(f"{file.name} unpacks to more than {most >> 20} MiB")
		    file.unlink()
		    file.write_bytes(gzip.compress(text, 0, mtime=0))
		    os.utime(file, (times.st_atime, times.st_mtime))
	EOF
}

case ${1:-} in
-h | --help) usage && exit ;;
--rebuild)
	need_tools
	in_tools python3 -m bench publish "${@:2}"
	exit
	;;
esac
(($# == 2)) || fail 2 "a run and a name are needed; see --help"
[[ $2 =~ ^[a-z0-9][a-z0-9-]*$ ]] || fail 2 "name '$2' is not lower-case letters, digits and '-'"
run=$1 published=$root/results/published/$2
[[ -d $run ]] || run=$root/results/$1
[[ -s $run/run.json && -s $run/report.md ]] || fail 2 "'$1' is not a run with a report: build one with scripts/report.sh"
# A link would be followed here, on the host: the run may be somebody else's.
[[ ! -L $run && -z $(find "$run/" ! -type f ! -type d -print -quit) ]] || fail 2 "'$1' has files that are links or no files"
[[ ! -e $published ]] || fail 2 "$published exists already: remove it, or choose another name"

need_tools
mkdir -p "$root/results/published"
made=$(mktemp -d -p "$root/results/published" .XXXXXX)
trap 'rm -rf "$made"' EXIT
chmod 755 "$made"
packed=(raw plan.jsonl services.yml knobs.env)
for name in sources.json changed-parts.txt; do [[ ! -s $run/$name ]] || packed+=("$name"); done
# Publish the kinds of nodes, but not how to reach them.
[[ ! -s $run/nodes-ever.tsv ]] || awk -F'\t' -v OFS='\t' '{ $3 = $4 = "-"; print }' "$run/nodes-ever.tsv" >"$made/nodes-ever.tsv"
for name in run.json selftest.md; do [[ ! -s $run/$name ]] || cp "$run/$name" "$made/"; done
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
made=$published
in_tools python3 -m bench publish "$2"
made=
say "$published"
