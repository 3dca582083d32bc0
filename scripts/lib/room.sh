# shellcheck shell=bash
# Whether results/ has room for a run, before anything is built; for each step driver/lifecycle/writer.py finds that out. Only declares.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"

# need_results: a results/ in which a run can begin, or status 2.
need_results() {
	local folder=$root/results why owner mode
	mkdir -p "$folder" 2>/dev/null || true # failure ignored: the next line says why
	try_write "$folder"
	[[ ! $why ]] || fail 2 "cannot write to $folder: $why; free some space there, or make it writable for $(id -un)"
	read -r owner mode < <(stat -c '%u %a' "$folder")
	((EUID != 0 || owner == 0 || 8#$mode & 2)) ||
		fail 2 "cannot write to $folder: it belongs to user $owner, and containers have none of root's rights: run this as that user, or chown it"
}

# try_write FOLDER: a megabyte; sets the caller's `why` to what is in its way.
try_write() {
	local file=$1/.room.$BASHPID
	why=$({ head -c 1048576 /dev/zero >"$file"; } 2>&1) || why=${why##*: }
	rm -f "$file" 2>/dev/null || true # failure ignored: where it cannot be removed, it was not made
}
