#!/usr/bin/env bats
# What a Compose file that somebody else wrote may not read: real folders, real links, and Docker Compose itself.

load common

setup() {
	folder=$BATS_TEST_TMPDIR/app
	mkdir -p "$folder/init" "$BATS_TEST_TMPDIR/outside"
	echo secret >"$BATS_TEST_TMPDIR/outside/token"
	cd "$BATS_TEST_DIRNAME/../.."
}

# compose_file LINES...: writes a file with one service, which has these lines.
compose_file() {
	printf '%s\n' 'services:' '  db:' '    image: x' "${@/#/    }" >"$folder/compose.yml"
}

# read_it [NAME...]: the file as the run would use it, for an app in $folder/app.
read_it() {
	python3 - "$folder/compose.yml" "$@" <<-'EOF'
		import json
		import sys
		from pathlib import Path

		from driver.failure import Failure
		from driver.messages import FAULTS
		from driver.planning.compose_file import read_compose

		file = Path(sys.argv[1]).resolve()
		try:
		    found = read_compose(file, None, app=file.parent / "app", names=sys.argv[2:])
		    if found[FAULTS]:
		        raise Failure(2, f"--compose: {'; '.join(found[FAULTS])}")
		    print(json.dumps(found))
		except Failure as failure:
		    print(failure)
		    sys.exit(failure.status)
	EOF
}

# outside WHAT: the file is refused, because of this.
outside() {
	run read_it
	echo "$1: $output"
	((status == 2))
	[[ $output == "--compose: "*"$1"* ]]
}

@test "a mount, build, secret or env_file outside of the file's folder is refused, also through links wherever they are" {
	local link
	for link in link node_modules/link .venv/link $'new\nline'; do
		mkdir -p "$(dirname "$folder/$link")"
		ln -s "$BATS_TEST_TMPDIR/outside" "$folder/$link"
		compose_file "volumes: [{type: bind, source: \"./${link/$'\n'/\\n}\", target: /x}]"
		outside "outside of the file's own folder"
	done
	compose_file 'volumes: ["./link/token:/x"]'
	outside "outside of the file's own folder"
	compose_file 'volumes: ["../outside:/x"]'
	outside "outside of the file's own folder"
	compose_file 'volumes: ["/var/run/docker.sock:/x"]'
	outside "mounts /var/run/docker.sock"
	compose_file 'build: ../outside'
	outside "is built from"
	compose_file 'build: {context: init, dockerfile: ../link/token}'
	outside "is built by"
	compose_file 'build: {context: "https://example.com/x.git"}'
	outside "which is not there"
	compose_file 'env_file: link/token'
	outside "reads"
	compose_file 'env_file: [{path: ../outside/token}]'
	outside "reads"
	echo 'X=../outside' >"$folder/.env"
	compose_file 'env_file: ${X}/token'
	outside "without a variable"
	rm "$folder/.env"
	compose_file 'secrets: [key]'
	printf '%s\n' 'secrets: {key: {file: ../outside/token}}' >>"$folder/compose.yml"
	outside "the secret 'key' reads"
	compose_file 'command: $X'
	ln -s ../outside/token "$folder/.env"
	outside "reads .env"
}

@test "another Compose file is never read, and .env starts no command: it can be anywhere, also behind git" {
	local words
	printf '%s\n' 'COMPOSE_EXPERIMENTAL_GIT_REMOTE=true' "GIT_SSH_COMMAND=touch $BATS_TEST_TMPDIR/ran;false" >"$folder/.env"
	printf '%s\n' 'services: {b: {image: y, environment: {P: "${X:-none}"}}}' >"$folder/other.yml"
	for words in '["ssh://git@127.0.0.1/x.git"]' '[{path: other.yml, env_file: ../outside/token}]' '[other.yml]'; do
		compose_file
		printf '%s\n' '"incl\x75de":' "  $words" >>"$folder/compose.yml"
		outside "it includes other files"
	done
	for words in ssh://git@127.0.0.1/x.git ../outside/other.yml other.yml; do
		printf '%s\n' '# first' '---' "x-v: &v {extends: {file: \"$words\", service: b}}" >"$folder/compose.yml"
		printf '%s\n' 'services: {db: {<<: *v, image: x}}' >>"$folder/compose.yml"
		outside "service 'db' extends one of another file"
	done
	compose_file "profiles: [p]" "env_file: ../outside/token"
	echo 'COMPOSE_PROFILES=p' >"$folder/.env"
	outside "reads"
	[[ ! -e $BATS_TEST_TMPDIR/ran ]]
	compose_file 'extends: own'
	printf '%s\n' '  own: {image: y, environment: {A: b}}' >>"$folder/compose.yml"
	run read_it
	((status == 0))
	[[ $output == *'"environment": {"A": "b"}'* ]]
}

@test "a pipe is not waited for, and a real path that has the form of a variable stays that path" {
	local words name='${X:-..}'
	mkfifo "$folder/pipe"
	for words in 'env_file: pipe' 'build: {context: init, dockerfile: ../pipe}' 'volumes: ["./pipe:/x"]'; do
		compose_file "$words"
		outside "neither a file nor a folder"
	done
	mkdir -p "$folder/$name/$name/outside"
	ln -s "$name/$name/outside" "$folder/link"
	compose_file 'volumes: ["./link:/x"]'
	run read_it
	((status == 0))
	[[ $output == *"\"source\": \"$(realpath "$folder")/\$\${X:-..}/\$\${X:-..}/outside\""* ]]
	mv "$folder/pipe" "$folder/.env"
	outside "reads .env"
}

@test "no variable of the shell reaches the file, and what is below its folder is read" {
	echo 'OWN=own' >"$folder/own.env"
	echo 'GIVEN=given' >"$folder/.env"
	ln -s init "$folder/inside"
	compose_file 'env_file: own.env' 'environment: {A: "${GITHUB_TOKEN:-none}", B: "${GIVEN}", HOME: }' 'volumes: ["./inside:/x"]'
	GITHUB_TOKEN=ghs_token run read_it
	echo "$output"
	((status == 0))
	[[ $output == *'"A": "none"'*'"B": "given"'*'"OWN": "own"'* ]]
	[[ $output == *"\"source\": \"$(realpath "$folder/init")\""* ]]
}

@test "a repository's own file: all but the app, or the services that are named, also if they have a profile" {
	mkdir -p "$folder/app"
	cat >"$folder/compose.yml" <<-'EOF'
		services:
		  web: {build: ., env_file: web.env, ports: ["8000:8000"], depends_on: [db], secrets: [key]}
		  proxy: {image: nginx, depends_on: [web], ports: ["80:80"]}
		  db: {image: x, ports: ["5432:5432"], volumes: ["./data:/data:cached", "media:/media"]}
		  queue: {image: y, profiles: [queue], depends_on: {db: {condition: service_started}}}
		volumes: {media: {}, other: {external: true}}
		secrets: {key: {file: ../outside/token}}
	EOF
	touch "$folder/web.env"
	run read_it
	echo "$output"
	((status == 0))
	[[ $output == *"left out: web (is built from the app's folder), proxy (depends on web); "*"of db, proxy, queue, web"* ]]
	[[ $output == *"mounts $folder/data, which is not there: it gets an empty volume"* ]]
	python3 - "${lines[-1]}" <<-'EOF'
		import json, sys
		found = json.loads(sys.argv[1])
		(db,) = found["services"].values()
		data, media = db["volumes"]
		assert (data["type"], "source" in data, media["source"]) == ("volume", False, "media"), db
		assert (list(found["volumes"]), found["secrets"]) == (["media"], {}), found
	EOF
	run read_it queue
	((status == 0))
	[[ $(python3 -c 'import json, sys; print(*json.loads(sys.argv[1])["services"])' "${lines[-1]}") == 'db queue' ]]
	run read_it web
	[[ $status == 2 && $output == *"the secret 'key' reads"*"outside of the file's own folder"* ]]
	rm "$folder/web.env"
	ln -s ../outside/token "$folder/web.env"
	outside "service 'web' reads"
}
