"""What scripts/test.sh verifies on every change."""

import pytest
from places import ROOT

from bench.cli.matrix import sample_verb
from bench.matrix.load import load_matrix


def drawn(seed: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    sample_verb([seed])
    return capsys.readouterr().out.split()


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_every_server_every_framework_and_every_python_is_in_it_in_as_few_services_as_possible(
    seed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    matrix = load_matrix()
    services = {s.name: s for s in matrix.services}
    chosen = [services[name] for name in drawn(seed, capsys)]
    assert not [s.name for s in chosen if s.skip or s.base != "debian"]
    on_default = [s for s in chosen if s.python == matrix.default_python]
    assert {s.server.name for s in on_default} == matrix.servers.keys()
    assert {s.framework.name for s in on_default} == matrix.frameworks.keys()
    assert len(on_default) == max(len(matrix.servers), len(matrix.frameworks))
    assert {s.python for s in chosen} == matrix.pythons.keys()
    assert len(chosen) == len(on_default) + len(matrix.pythons) - 1


def test_a_seed_draws_the_same_again_and_another_seed_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert drawn("1", capsys) == drawn("1", capsys)
    assert drawn("1", capsys) != drawn("2", capsys)
