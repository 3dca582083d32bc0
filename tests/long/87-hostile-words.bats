#!/usr/bin/env bats
# One hostile service among four, for 13 ways in which its answers, titles, log and commands harm who reads them: the other three are
# ranked in their true order, the run ends by itself, and nothing is left.

load hostile

@test "answers that never begin" { ranked silent; }

@test "headers that never end" { ranked headers; }

@test "answers that stop half-way" { ranked half; }

@test "a length that is too large" { ranked length; }

@test "bytes that are not HTTP" { ranked garbage; }

@test "an answer of 10 GB" { ranked huge; }

@test "a negative chunk size" { ranked chunk; }

@test "a status line of 1 MB" { ranked status; }

@test "two answers to each request" { ranked twice; }

@test "titles of processes that terminals and shells act on" { ranked title; }

@test "a megabyte of log for each request, with escape sequences" { ranked log; }

@test "a cat in the image that sleeps" { ranked command-sleeps; }

@test "a cat in the image that prints without end" { ranked command-floods; }
