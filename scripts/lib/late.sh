# shellcheck shell=bash
# What the verifier found too late beside others, so that it is asked once more, alone. Only declares.
# shellcheck disable=SC2154 # what verify.sh sets, which reads this

# only_late FILE: whether all that the verifier found was an answer that took too long.
only_late() {
	local failed late='got no (complete answer within|request: [0-9]+ before it were not answered in time)|s in the last of [0-9]+ tries$'
	failed=$(grep '^not ok' "$1") && ! grep -qvE "$late" <<<"$failed"
}

# set_aside SERVICE: what was found beside others, so that it is asked anew.
set_aside() {
	local folder=$run_dir/raw/services/$1
	say "$1: too late; once more, alone, when the others are done"
	mkdir -p "$folder/beside"
	mv "$folder"/{verify,stop}.json "$folder/verify.txt" "$folder/beside/" 2>/dev/null || true
}
