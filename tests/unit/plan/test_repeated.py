"""The selection of a run that is repeated."""

import pytest

from bench.plan.again import chooses_the_same, repeated

COMMAND = ["--stack", "aiohttp,tornado", "--scenario=json", "--stack", "sanic", "--level", "knee:p99=50ms"]


@pytest.mark.parametrize(
    ("command", "otherwise", "words"),
    [
        (COMMAND, [], [*COMMAND, "--seed", "7"]),
        (["--seed", "3"], [], ["--seed", "3"]),
        (["--seed=3"], ["--rounds", "2"], ["--seed=3", "--rounds", "2"]),
        (["--seed", "3"], ["--seed", "5"], ["--seed", "5"]),
        (COMMAND, ["--stack=bjoern"], ["--scenario=json", "--level", "knee:p99=50ms", "--stack=bjoern", "--seed", "7"]),
        (
            ["--target", "http://a", "--i-own-this-target", "--rounds", "2"],
            ["--target", "http://b"],
            ["--rounds", "2", "--target", "http://b", "--seed", "7"],
        ),
        (
            ["--target", "http://a", "--i-own-this-target", "--rounds", "2"],
            ["--rounds", "4"],
            ["--target", "http://a", "--i-own-this-target", "--rounds", "4", "--seed", "7"],
        ),
    ],
)
def test_what_is_given_again_takes_the_place_of_what_it_was(
    command: list[str], otherwise: list[str], words: list[str]
) -> None:
    assert repeated(command, 7, otherwise) == words


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ([*COMMAND, "--rounds", "2", "--seed", "1"], True),
        ([*COMMAND, "--python", "3.14"], False),
        (COMMAND[2:], False),
    ],
)
def test_services_are_chosen_by_some_options_alone(other: list[str], same: bool) -> None:
    assert chooses_the_same(COMMAND, other) is same
