#!/usr/bin/env bash
#
# Usage: scripts/branches.sh
#
# Creates two local branches from the current commit, `sync` and `gevent`, that differ in one line:
# WORKER_CLASS in .env. Then `git switch gevent && docker-compose up bench` measures gunicorn's other
# worker model. A branch that is there already is left as it is.
set -Eeuo pipefail
# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/lib/common.sh"
trap_errors

case ${1:-} in
'') ;;
-h | --help) usage && exit ;;
*) fail 2 "unknown argument '$1', see --help" ;;
esac

cd "$root"
git rev-parse --verify --quiet HEAD >/dev/null || fail 2 "this folder is no git clone: git clone the project first"
for class in sync gevent; do
	if git show-ref --verify --quiet "refs/heads/$class"; then
		say "branch $class is there already"
		continue
	fi
	# Made beside the work tree, so that nothing uncommitted is touched.
	tree=$(mktemp -d)
	git worktree add --quiet -b "$class" "$tree" HEAD
	sed -i.old "s/^WORKER_CLASS=.*/WORKER_CLASS=$class/" "$tree/.env" && rm "$tree/.env.old"
	git -C "$tree" diff --quiet || git -C "$tree" commit --quiet -m "gunicorn's $class workers" -- .env
	git worktree remove "$tree"
	say "branch $class: git switch $class && docker-compose up bench"
done
