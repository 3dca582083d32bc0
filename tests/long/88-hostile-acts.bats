#!/usr/bin/env bats
# One hostile service among four, for 11 ways in which it takes memory, disk, processes, CPU time, the database or the upstream from the
# others, or stops: they are ranked in their true order, the run ends by itself, and nothing is left.

load hostile

@test "memory beyond the limit, under load" { ranked memory; }

@test "files wherever it can write" { ranked disk; }

@test "processes up to the limit" { ranked processes; }

@test "a thread that burns CPU time between its turns" { ranked burn; }

@test "a server that is stopped" { ranked stop; }

@test "a server that is killed" { ranked kill; }

@test "locks on the database" { ranked lock; }

@test "an end to the others' database connections" { ranked terminate; }

@test "all connections of the database" { ranked connections; }

@test "orders to the upstream to fail the others" { ranked upstream; }

@test "memory beyond the limit, at the start" { ranked starved; }
