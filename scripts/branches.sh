#!/usr/bin/env bash
#
# Usage: scripts/branches.sh
#
# Creates two local branches from the current commit, `sync` and `gevent`, that differ in one line:
# WORKER_CLASS in .env. Then `git switch gevent && docker-compose up bench` measures gunicorn's other
# worker model. Existing branches are not changed.
set -Eeuo pipefail
# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/lib/common.sh"
trap_errors

case ${1:-} in
'') ;;
-h | --help) usage && exit ;;
*) fail_unknown "$1" ;;
esac

cd "$root"
head=$(git rev-parse --verify --quiet HEAD 2>/dev/null) || fail 2 "this folder is not a git clone with a commit: git clone the project first"
# A separate work tree leaves uncommitted changes alone. A branch is created only after its commit.
tree=$(mktemp -d)/tree
trap 'git worktree remove --force "$tree" 2>/dev/null || true; rm -rf "${tree%/*}"' EXIT
git worktree add --quiet --detach "$tree" "$head"
for class in sync gevent; do
	if git show-ref --verify --quiet "refs/heads/$class"; then
		say "branch $class exists already"
		continue
	fi
	git -C "$tree" checkout --quiet --detach "$head"
	sed "s/^WORKER_CLASS=.*/WORKER_CLASS=$class/" "$tree/.env" | save "$tree/.env"
	git -C "$tree" diff --quiet || git -C "$tree" commit --quiet -m "gunicorn's $class workers" -- .env
	made=$(git -C "$tree" rev-parse HEAD)
	git branch "$class" "$made"
	say "branch $class: git switch $class && docker-compose up bench"
done
