"""A wheel's built files complete the app's folder, as an editable installation does."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from places import ROOT
from text_files import written

SCRIPT = str(ROOT / "services/own/in_place.py")
NATIVE = "_speed.cpython-313-x86_64-linux-gnu.so"


def run_script(monkeypatch: pytest.MonkeyPatch, verb: str, folder: Path) -> None:
    monkeypatch.setattr(sys, "argv", [SCRIPT, verb, str(folder), str(folder / "app")])
    runpy.run_path(SCRIPT, run_name="__main__")


@pytest.mark.parametrize("top", ["app", "app/src"])
def test_built_files_complete_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, top: str) -> None:
    package = written(tmp_path / top / "shop", {"__init__.py": "folder", NATIVE: "built for another machine"})
    with ZipFile(tmp_path / "shop-1-cp313-cp313-linux_x86_64.whl", "w") as wheel:
        for name in ("__init__.py", "_version.py", NATIVE, "data/_made.json", "../../outside"):
            wheel.writestr(f"shop/{name}", "wheel")
        for name in ("top.py", "other/__init__.py", "shop-1.dist-info/METADATA"):
            wheel.writestr(name, "wheel")
    run_script(monkeypatch, "complete", tmp_path)
    made = {str(path.relative_to(package)): path.read_text() for path in package.rglob("*") if path.is_file()}
    # Python's own archives do not leave the folder.
    assert made.pop("outside") == "wheel"
    assert made == {"__init__.py": "folder", "_version.py": "wheel", NATIVE: "wheel", "data/_made.json": "wheel"}
    assert {path.name for path in (tmp_path / "app").rglob("*")} >= {"shop"}
    assert not [*tmp_path.rglob("other"), *tmp_path.rglob("top.py"), *tmp_path.rglob("*.dist-info")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app", "shop-1-cp313-cp313-linux_x86_64.whl"]


@pytest.mark.parametrize("top, printed", [("app/src", ""), ("app/src/py", "shop src/py\n"), ("app/lib", "shop lib\n")])
def test_a_package_is_run_from_where_its_sources_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], top: str, printed: str
) -> None:
    names = ["shop/__init__.py", "shop/main.py", "shop/_version.py"]
    # A folder with the same name has other files.
    written(tmp_path, dict.fromkeys([*(f"{top}/{name}" for name in names[:2]), "app/web/shop/shop.css"], ""))
    with ZipFile(tmp_path / "shop-1-py3-none-any.whl", "w") as wheel:
        for name in [*names, "shop-1.dist-info/METADATA"]:
            wheel.writestr(name, "wheel")
    run_script(monkeypatch, "roots", tmp_path)
    assert capsys.readouterr().out == printed
    run_script(monkeypatch, "complete", tmp_path)
    assert (tmp_path / top / "shop/_version.py").read_text() == "wheel"
