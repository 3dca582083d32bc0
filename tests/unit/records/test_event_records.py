"""The record of an event: every request is accounted for, and its line equals the record."""

import gzip
from dataclasses import replace

import pytest
from event_runs import event

from bench.records import event_window
from bench.records.event import Ended, EventRecord, Fate
from bench.records.record import BadRecord, dump, from_line, load, to_line

RELOAD = event(
    "gunicorn",
    sent=480,
    lost=3,
    recovered_s=None,
    environment={"WORKERS": "4"},
    extras={"told_close": 4},
    missing={"recovered_s": "errors until the window's end"},
)


def test_a_record_and_its_line_say_the_same() -> None:
    assert from_line(to_line(RELOAD), EventRecord) == RELOAD
    assert list(load(dump([RELOAD, RELOAD]), EventRecord)) == [RELOAD, RELOAD]
    assert (RELOAD.answered, RELOAD.lost, RELOAD.counts) == (477, 3, True)


def test_a_request_without_a_fate_needs_a_cause() -> None:
    with pytest.raises(BadRecord, match="480 requests were sent, and the outcomes of 477 are known"):
        replace(RELOAD, fates={Fate.ANSWERED: 477})
    assert not replace(RELOAD, fates={Fate.ANSWERED: 477}, unaccounted="the log ends early").counts


def test_a_reload_that_was_not_seen_to_happen_is_not_compared() -> None:
    assert not replace(RELOAD, happened=False).counts
    assert not replace(RELOAD, causes=("client late",)).counts
    assert not replace(RELOAD, ended=Ended.FAILED, detail="did not start").counts


@pytest.mark.parametrize("line", ["", "{}", "[]", '{"schema":1}', '{"schema":2,"id":"x"}'])
def test_another_line_is_no_record(line: str) -> None:
    with pytest.raises(BadRecord):
        from_line(line, EventRecord)


@pytest.mark.parametrize("part", [b"\0", b"\n", b"\t\n", b"1\t1\t1\t1\t1\t1\t\t1\t\n"])
def test_a_log_that_unpacks_to_more_than_any_of_ours_is_damaged(part: bytes) -> None:
    head = b"kind\tdue\tbegun\tend\tconnection\tnth\tfate\tworker\tclose\n"
    assert event_window.read_log(gzip.compress(head)) == []
    assert event_window.read_log(gzip.compress(head + part * ((65 << 20) // len(part)), 1)) is None
