#!/usr/bin/env bash
# An empty database `shop` in memory, for the user `shop` on this network, and PostgreSQL.
set -Eeuo pipefail

data=/var/lib/postgresql/data/shop
initdb --pgdata "$data" --username shop --encoding UTF8 --auth trust >/dev/null
echo 'host all all samenet trust' >>"$data/pg_hba.conf"
postgres --single -D "$data" postgres <<<'CREATE DATABASE shop' >/dev/null
exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/var/lib/postgresql/data -c fsync=off -c max_connections=200
