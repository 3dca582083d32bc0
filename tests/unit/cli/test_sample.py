"""What scripts/test.sh verifies on every change."""

import pytest
from places import ROOT

from bench.cli.sample import sample_verb
from bench.matrix.load import load_matrix


def drawn(seed: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    sample_verb([seed])
    return capsys.readouterr().out.split()


def test_every_server_and_every_framework_is_in_it_and_every_python(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    services = {s.name: s for s in load_matrix().services}
    chosen = [services[name] for name in drawn("1", capsys)]
    assert not [s.name for s in chosen if s.skip or s.base != "debian"]
    on_default = [s for s in chosen if s.python == load_matrix().default_python]
    assert {s.server.name for s in on_default} == load_matrix().servers.keys()
    assert {s.framework.name for s in on_default} == load_matrix().frameworks.keys()
    bare = {s.name for s in services.values() if (s.python, s.base) == (on_default[0].python, "debian")}
    bare = {name for name in bare if services[name].framework.name == services[name].interface}
    assert {name for name in bare if not services[name].skip} <= {s.name for s in chosen}
    assert {s.python for s in chosen} == load_matrix().pythons.keys()


def test_a_seed_draws_the_same_again_and_another_seed_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert drawn("1", capsys) == drawn("1", capsys)
    assert drawn("1", capsys) != drawn("2", capsys)
