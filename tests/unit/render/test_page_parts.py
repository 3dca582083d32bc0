"""The parts of the page, without a browser: its data, text, policy and libraries."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import lint_page
import pytest
from make_run import entry, output_of, write_measurement, write_run

from bench.analysis.cells.latency import DRAWN, Distribution, merge
from bench.cli.report import build_verb
from bench.records.record import Record
from bench.render.page.data import page_data
from bench.render.page.document import FLAMES, HERE, LIBRARIES, json_block, policy
from bench.render.page.windows import IN_A_PART, MOST_KEPT, WindowDetails, parts, window_details_of
from bench.render.page.windows import output_of as kept_of
from bench.render.text import rounded, short, visible
from bench.run.reader import read_run
from bench.tools.send_lag import least_requests, quantile_of
from bench.validity.run_records import reviewed


def test_the_library_is_what_its_table_says() -> None:
    table = (HERE / "vendor/README.md").read_text()
    for name in (*LIBRARIES, FLAMES):
        digest = hashlib.sha256((HERE / "vendor" / name).read_bytes()).hexdigest()
        assert re.search(rf"`{re.escape(name)}` \| .* \| {digest} \|", table)
        licence = (HERE / "vendor" / f"{name.split('.')[0]}.LICENSE").read_text().lstrip()
        assert licence.startswith(("Copyright", "Apache License"))


@pytest.mark.parametrize(
    "text", ["</script>", "<!-- <script>", "\u2028\u2029", "&lt;", "]]>", "\x00\x1f", "\U0001f600"]
)
def test_json_ends_no_element_and_is_what_it_was(text: str) -> None:
    block = str(json_block({"key": [text]}))
    assert not re.search(r"[<>&\u2028\u2029]", block) and json.loads(block) == {"key": [text]}


def test_the_policy_lets_only_these_scripts_run_and_nothing_load() -> None:
    made = policy(["one()", "two()"])
    hashes = [base64.b64encode(hashlib.sha256(s).digest()).decode() for s in (b"one()", b"two()")]
    assert f"script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}';" in made
    assert made.startswith("default-src 'none';") and "http" not in made and "eval" not in made


def test_the_script_is_linted_as_a_whole_and_positions_are_those_of_its_files(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = min((HERE / "app").glob("*.js"))
    rest = file.read_text().split("\n", 1)[1]
    script = lint_page.app().replace(rest, rest + "const lonely = missing;\n")
    monkeypatch.setattr(lint_page, "app", lambda: script)
    assert lint_page.main() != 0
    printed, line = capfd.readouterr().out, rest.count("\n") + 2
    for rule in ("noUnusedVariables", "noUndeclaredVariables"):
        assert re.search(rf"app/{file.name}:{line}:\d+ lint/correctness/{rule}", printed), rule
    assert printed.count(" lint/") == 2


def test_invisible_characters_are_named_and_the_others_stay() -> None:
    assert visible("a\u202eb\x00c\ufeff\U000e0041") == "a⟨U+202E⟩b⟨U+0000⟩c⟨U+FEFF⟩⟨U+E0041⟩"
    assert visible("tab\tline\nمرحبا 日本 é") == "tab\tline\nمرحبا 日本 é"
    assert visible(json.loads('"\\ud800"')) == "⟨U+D800⟩"


def test_what_is_cut_is_counted() -> None:
    told = short("a" * 1000 + "b" * 1000, 300)
    assert told == "a" * 200 + " […1,700 characters left out…] " + "b" * 100
    assert short("a" * 300, 300) == "a" * 300


@pytest.mark.parametrize("length", [0, 10, MOST_KEPT, MOST_KEPT + 1, 1_000_000])
@pytest.mark.parametrize("most", [MOST_KEPT, 1024, 0])
def test_an_output_keeps_both_its_ends(length: int, most: int) -> None:
    text = ("0123456789" * (length // 10 + 1))[:length]
    told = kept_of(text.encode()).cut(most)
    if length <= most:
        assert told == text
        return
    left = int(re.search(r" \[…([\d,]+) characters left out…\] ", told)[1].replace(",", ""))  # type: ignore[index]
    head, _, tail = re.split(r"( \[….*…\] )", told)
    assert left == length - most and len(head) + len(tail) == most
    assert text.startswith(head) and text.endswith(tail)


def test_figures_have_six_digits_and_no_number_that_json_lacks() -> None:
    assert rounded({"a": [1234.56789, float("nan"), 3, True]}) == {"a": [1234.57, None, 3, True]}


def test_a_curve_has_the_quantiles_and_ends_where_there_are_too_few_requests() -> None:
    rng = random.Random(4)
    counts: dict[int, int] = {}
    for _ in range(6000):
        value = round(rng.lognormvariate(14, 1))
        counts[value] = counts.get(value, 0) + 1
    one = Distribution(6000, counts, counts)
    curve = merge([one, one]).curve
    assert [share for share, _ in curve] == [share for share in DRAWN if least_requests(share) <= 6000]
    assert [seconds for _, seconds in curve] == [quantile_of(counts, share) / 1e9 for share, _ in curve]
    slowest = sorted(counts, reverse=True)[:100]
    due = {value * (10 if value in slowest else 1): count for value, count in counts.items()}
    late = Distribution(6000, counts, due)
    assert merge([one, late]).curve[-1][0] < 0.99


def made(
    folder: Path, count: int = 1, output: bytes | None = None, tool: Mapping[str, Any] | None = None
) -> tuple[list[Record], list[WindowDetails]]:
    lines = [entry("aiohttp", number=number, round=number) for number in range(1, count + 1)]
    write_run(folder, lines)
    for line in lines:
        write_measurement(folder, line, output or output_of(line, 4000 + line["round"]), tool=tool)
    windows: list[WindowDetails] = []
    return reviewed(read_run(str(folder)), {}, lambda raw: windows.append(window_details_of(raw))), windows


def inflated(found: list[str]) -> list[dict[str, Any]]:
    return [entry for part in found for entry in json.loads(zlib.decompress(base64.b64decode(part)))]


def test_details_have_every_measurement_in_order_and_its_output_as_it_was(tmp_path: Path) -> None:
    records, windows = made(tmp_path, IN_A_PART + 2)
    entries = inflated(parts(records, windows, 1 << 30))
    assert [entry["id"] for entry in entries] == [record.id for record in records]
    for entry_, record in zip(entries, records, strict=True):
        assert entry_["raw"].encode() == (tmp_path / record.raw_file).read_bytes()
        assert entry_["command"] == ["wrk", "-x"] and entry_["raw_sha256"] == record.raw_sha256


def test_raw_output_is_cut_if_the_page_would_be_too_large(tmp_path: Path) -> None:
    rng = random.Random(1)
    noise = "".join(chr(rng.randrange(33, 127)) for _ in range(40_000)).encode()
    records, windows = made(tmp_path, 5, noise)
    whole, small = parts(records, windows, 1 << 30), parts(records, windows, 20_000)
    assert sum(map(len, small)) <= 20_000 < sum(map(len, whole))
    assert [entry["raw"] for entry in inflated(whole)] == [noise.decode()] * 5
    assert ["characters left out…]" in entry["raw"] for entry in inflated(small)] == [True] * 5


def test_a_measurement_with_endless_words_stays_small(tmp_path: Path) -> None:
    records, windows = made(tmp_path, tool={"argv": ["x" * 1_000_000], "stdin": "y" * 1_000_000})
    assert len(json.dumps(inflated(parts(records, windows, 1 << 30)))) < 20_000


@pytest.mark.parametrize(
    "figures, noisy",
    [({}, 0), ({"foreign_ratio": 0.2}, 1), ({"steal_ratio": 0.2}, 1), ({"foreign_ratio": 0.2, "mode": "turns"}, 0)],
)
def test_a_noisy_window_is_marked_unless_it_is_in_turns(figures: dict[str, Any], noisy: int, tmp_path: Path) -> None:
    records, windows = made(tmp_path)
    changed = [replace(records[0], **figures)]
    data = page_data(read_run(str(tmp_path)), {}, changed, windows, latencies={})
    assert data["measurements"]["noisy"] == [noisy]


@pytest.mark.parametrize(
    "speeds, interval", [([812.0, 790.5, 833.1], (759.0, 865.0)), ([9.0, 90.0], (0.0, 564.1)), ([800.0] * 2, None)]
)
def test_a_cell_has_the_t_interval_of_its_rounds(
    speeds: list[float], interval: tuple[float, float] | None, tmp_path: Path
) -> None:
    records, windows = made(tmp_path)
    rounds = [replace(records[0], goodput=speed) for speed in speeds]
    cells = page_data(read_run(str(tmp_path)), {}, rounds, windows * len(speeds), latencies={})["cells"]
    assert (cells["low"] + cells["high"]) == ([None, None] if interval is None else pytest.approx(interval, rel=1e-3))


@pytest.mark.parametrize(
    "change, told",
    [
        ({}, 0.25),
        ({"after": {"pressure_cpu": "some avg10=0 total=0"}}, None),
        ({"before": {"pressure_cpu": "rubbish"}}, None),
        ({"before": {}}, None),
        ({"end_ns": 0}, None),
    ],
)
def test_pressure_is_the_part_of_the_window_or_nothing(
    change: dict[str, Any], told: float | None, tmp_path: Path
) -> None:
    tool: dict[str, Any] = {"start_ns": 10**9, "end_ns": 5 * 10**9, "before": {"pressure_cpu": "some avg10=0 total=7"}}
    tool |= {"after": {"pressure_cpu": "some avg10=0 avg60=0 total=1000007\nfull avg10=0 total=0"}} | change
    (window,) = made(tmp_path, tool=tool)[1]
    assert window.pressure_ratio == told


def test_a_run_without_a_measurement_has_a_page(tmp_path: Path) -> None:
    write_run(tmp_path, [entry("aiohttp")])
    build_verb([str(tmp_path)])
    page = (tmp_path / "index.html").read_text()
    assert "No service was measured, so there are no conclusions." in page and "not run" in page
    (tmp_path / "plan.jsonl").write_text("")
    build_verb([str(tmp_path)])
    assert "No service was measured, so there are no conclusions." in (tmp_path / "index.html").read_text()
