"""The checks of the HTTP contract, a module for each subject."""

from bench.contract.checks import database, delay, echo, every_route, upstream
from bench.contract.checks.base import Check

CHECKS: tuple[Check, ...] = (
    every_route.right_answer,
    every_route.headers,
    every_route.unknown_path,
    every_route.wrong_method,
    every_route.date_advances,
    delay.invalid_duration,
    delay.waits,
    delay.concurrent_waits,
    database.clamped,
    database.stored_numbers,
    database.random_rows,
    database.query_for_each_row,
    database.updates_counted,
    database.updates_stored,
    database.data_created,
    database.data_created_concurrently,
    database.all_fortunes,
    database.from_template,
    echo.objects,
    echo.limit,
    echo.refuses,
    echo.survives,
    upstream.waited_for,
    upstream.reached_once,
    upstream.closes,
    upstream.errs,
    upstream.hangs,
    upstream.recovers,
)
"""Every check, in the order of the output."""

__all__ = ["CHECKS", "Check"]
