"""Checks of `/simple_request/MS`: it waits for upstream, asks it once, and turns its failures into a 502."""

from bench.contract.answers import check_content_type, strict_json
from bench.contract.checks.base import BURST, answer_time, check, final_count, good, good_burst, refused
from bench.contract.dependencies import Mode, upstream_mode
from bench.contract.expect import brief, expect
from bench.contract.routes import path_of
from bench.contract.target import Target


@check("simple-request")
def waited_for(target: Target, route: str) -> None:
    """Waits for upstream, and for its default delay if n is 0."""
    answer_time(lambda: good(target, route, 150).seconds, 0.150, 0.350)
    answer = good(target, route, 0)
    default = strict_json(answer.body)["delay_ms"] / 1000
    expect(answer.seconds >= default, f"at least {default:g} s", f"{answer.seconds:.3f} s")


@check("simple-request")
def reached_once(target: Target, route: str) -> None:
    """Each request reaches upstream once."""
    before = target.external.count()
    good_burst(target, route, 30)
    reached = final_count(target.clock, target.external.count, before + BURST) - before
    expect(reached == BURST, f"{BURST} requests at upstream", reached)


@check("simple-request")
def closes(target: Target, route: str) -> None:
    """502 when upstream closes the connection."""
    _bad_gateway(target, "close", within=2)


@check("simple-request")
def errs(target: Target, route: str) -> None:
    """502 when upstream answers 500."""
    _bad_gateway(target, "error", within=2)


@check("simple-request")
def hangs(target: Target, route: str) -> None:
    """502 when upstream does not answer within ms/1000 + 2 s."""
    _bad_gateway(target, "hang", within=0.05 + 2 + 1.5)


@check("simple-request")
def recovers(target: Target, route: str) -> None:
    """Recovers when upstream does."""
    for _ in range(3):
        good(target, route)


def _bad_gateway(target: Target, mode: Mode, within: float) -> None:
    """A 502 whose body names the error must come within some seconds, which include slack for a busy machine."""
    path = path_of("simple-request", 50)

    def seconds() -> float:
        answer = target.client.get(path)
        refused(answer, 502, request=f"{path} with upstream in mode {mode}")
        check_content_type(answer, "application/json")
        value = strict_json(answer.body)
        expect(isinstance(value, dict) and bool(value.get("error")), '{"error":...}', brief(value))
        return answer.seconds

    with upstream_mode(target.external, mode):
        answer_time(seconds, 0, within, f"502 within {within:g} s", tries=2)
