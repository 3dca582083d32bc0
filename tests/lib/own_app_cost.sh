# shellcheck shell=bash
# A user's own app on twelve servers, and the preset quick, for scripts/harness-cost.sh. Only declares.

# shellcheck source=tests/lib/harness_cost.sh
source "${BASH_SOURCE[0]%/*}/harness_cost.sh"

own_servers=gunicorn-sync,gunicorn-gthread,gunicorn-gevent,gunicorn-tornado,bjoern,werkzeug,waitress,cheroot,gevent-pywsgi,uwsgi,granian-wsgi,socketify-wsgi

cost_own_app() {
	local spans
	prepare
	measure_own_app
	mapfile -t spans <"$work/spans"
	in_tools python3 -m tests.cost own "$(<"$work/run")" "${spans[@]}" || exit $?
}

# measure_own_app: copies the example, with one target, and builds its images. Times a run with these images, and a rebuild of them
# after a change of the app: one line each in `spans`. Writes the folder of the timed run to `run`.
measure_own_app() {
	local built names
	cp -r "$root/examples/shop" "$work/shop"
	printf 'GET /products/50\n' >"$work/shop/target.txt"
	quietly own_matrix --max-time 0.01
	interval own-run own_matrix --rounds 6
	dirname "$(<"$work/report")" >"$work/run"
	built=$(built_services "$root/$(<"$work/run")/host.json")
	mapfile -t names <<<"$built"
	echo "# changed $(date +%s%N)" >>"$work/shop/flask/main.py"
	interval own-rebuild "$docker" compose --project-name bench --file "$root/$(<"$work/run")/compose.yml" build "${names[@]}"
}

own_matrix() {
	"$root/scripts/matrix.sh" --app "$work/shop/flask" main:app --targets "$work/shop/target.txt" --compose "$work/shop/compose.yml" \
		--env-file "$work/shop/shop.env" --before 'python3 seed.py' --server "$own_servers" --controls none "$@" >"$work/report"
}

# built_services FILE: prints the services whose images a run builds, one per line.
built_services() {
	python3 -c 'import json, sys; print(*sorted({one["build"] for one in json.load(open(sys.argv[1]))["services"].values()} - {""}), sep="\n")' "$1"
}

# cost_quick: builds the images, then times a run.
cost_quick() {
	prepare
	quietly quick --max-time 0.01
	interval quick quick
	dirname "$(<"$work/report")" >"$work/run"
	in_tools python3 -m tests.cost quick "$(<"$work/run")" "$(<"$work/spans")" || exit $?
}

quick() { "$root/scripts/matrix.sh" --preset quick "$@" >"$work/report"; }
