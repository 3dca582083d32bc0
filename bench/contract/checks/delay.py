"""Checks of `/?duration=MS`: waits are real, no longer than requested, and concurrent where claimed."""

from bench.contract.answers import expected
from bench.contract.checks.base import answer_time, check, good
from bench.contract.expect import about
from bench.contract.routes import path_of, request_of
from bench.contract.target import Target


@check("delay")
def invalid_duration(target: Target, route: str) -> None:
    """No wait for an invalid duration."""
    for given in ("foo", "", "-5", "%C2%B2"):
        path = path_of(route, given)

        def seconds(path: str = path) -> float:
            answer = target.client.get(path)
            with about(path):
                expected("root").check(answer)
            return answer.seconds

        answer_time(seconds, 0, 2, f"no wait for {path}")


@check("delay")
def waits(target: Target, route: str) -> None:
    """Waits for the requested duration."""
    answer_time(lambda: good(target, route, 200).seconds, 0.200, 0.350)


@check("delay", concurrent=True)
def concurrent_waits(target: Target, route: str) -> None:
    """Two requests wait concurrently."""

    def slower() -> float:
        answers = target.client.burst(request_of(route, 500), 2)
        return max(answer.seconds for answer in answers)

    answer_time(slower, 0.500, 0.900)
