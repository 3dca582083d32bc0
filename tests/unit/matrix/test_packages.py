"""Packages: what locks pin, and the results of builds for --package."""

from __future__ import annotations

import tracemalloc
import zipfile
from contextlib import nullcontext
from datetime import date
from pathlib import Path

import pytest
from captured import refused
from make_plans import MATRIX
from places import OUTPUTS, ROOT

from bench.core.errors import UserError
from bench.matrix.model import Service
from bench.matrix.packages import Asked, Wheel, Wheels, pins_of, read_wheels, wheels_of, with_package, write_wheels

LOCKS = {
    "common-sync": "psycopg2==2.9 \\\n    --hash=sha256:1\n",
    "framework-flask": "Flask==3.1 \\\n    --hash=sha256:1\nclick==8.1\n",
    "server-gunicorn-sync": "gunicorn==23.0 ; python_version > '3'\nclick==8.1\n",
    "package-flask==3.0": "flask==3.0\nits_dangerous==2.2\n",
}


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    (tmp_path / "py313").mkdir()
    for name, text in LOCKS.items():
        (tmp_path / f"py313/{name}.txt").write_text(text)
    return tmp_path


def service(name: str = "gunicorn-sync-flask-py313-debian") -> Service:
    return next(one for one in MATRIX.services if one.name == name)


PLAIN = {"psycopg2": "2.9", "flask": "3.1", "click": "8.1", "gunicorn": "23.0"}


def test_the_pins_of_drivers_framework_and_server(locks: Path) -> None:
    pins = pins_of(service(), root=locks)
    assert pins.versions == PLAIN and pins.whole


CHANGED = {
    "flask==3.0": {"flask": "3.0", "its-dangerous": "2.2"},
    "flask==2.0": {"flask": "2.0"},
    "flask==2.0 Click==7.1": {"flask": "2.0", "click": "7.1"},
}


@pytest.mark.parametrize("package", CHANGED)
def test_changed_packages_come_last(package: str, locks: Path) -> None:
    pins = pins_of(with_package(MATRIX, service(), package), root=locks)
    assert pins.versions == PLAIN | CHANGED[package]
    assert pins.whole is (package == "flask==3.0"), "only this one has a lock"


def test_an_own_apps_lock_comes_last(locks: Path, tmp_path: Path) -> None:
    own = tmp_path / "own/py313"
    own.mkdir(parents=True)
    (own / "requirements.txt").write_text("flask==3.1.1\nclick==8.1\n")
    assert pins_of(service(), own.parent, locks).versions == PLAIN | {"flask": "3.1.1"}


def test_pypy_has_packages_of_its_own() -> None:
    assert not pins_of(service("gunicorn-sync-flask-pypy311-debian")).whole


def test_every_python_is_locked_with_hashes() -> None:
    """Every pin in every lock has a hash, and every image that installs from a lock requires hashes."""
    locks = [*ROOT.glob("services/locks/*/*.txt"), ROOT / "bench/requirements.txt", ROOT / "tests/requirements.txt"]
    assert len(locks) > 200
    bare = []
    for path in locks:
        text = path.read_text().replace("\\\n", " ")
        bare += [f"{path}: {line}" for line in text.splitlines() if line[:1].isalnum() and "--hash=" not in line]
    assert bare == []
    for path in [ROOT / f"services/{base}.Dockerfile" for base in ("debian", "alpine")]:
        installs = [line for line in path.read_text().splitlines() if "pip install" in line and "--requirement" in line]
        assert installs and all("--require-hashes" in line for line in installs)


COMMIT = "1a2b3c4d5e6f" + "0" * 28


def item(folder: Path, number: int, spec: str, kind: str, **more: str) -> None:
    own = folder / "items" / str(number)
    own.mkdir(parents=True)
    for name, text in ({"spec": spec, "kind": kind} | more).items():
        (own / name).write_text(text)


def wheel(folder: Path, where: str, version: str, code: str = "pass", name: str = "Uvi.corn") -> None:
    own = folder / "out/py313" / where
    own.mkdir(parents=True)
    with zipfile.ZipFile(own / f"uvi_corn-{version}-py3-none-any.whl", "w") as file:
        file.writestr("uvi_corn/__init__.py", code)
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        file.writestr(f"uvi_corn-{version}.dist-info/METADATA", about)


def failed(folder: Path, where: str, words: str, requirement: str = "") -> None:
    own = folder / "out/py313" / where
    own.mkdir(parents=True)
    (own / "error.txt").write_text(words)
    if requirement:
        (own / "requirement").write_text(requirement + "\n")


def found(folder: Path) -> Wheels:
    return wheels_of(folder / "items", folder / "out", ["py313"])


def test_a_release_has_its_version_and_a_source_its_commit_or_its_content_too(tmp_path: Path) -> None:
    item(tmp_path, 0, "Uvi.corn==0.54.0", "release")
    item(tmp_path, 1, "./u@main", "commit", commit=COMMIT)
    item(tmp_path, 2, "./u", "folder", commit=COMMIT, changed="yes")
    wheel(tmp_path, "0-1", "0.54.0")
    wheel(tmp_path, "1-1", "0.54.0", "a")
    wheel(tmp_path, "2-1", "0.55.0.dev1+x", "b")
    made = found(tmp_path)
    one, two, three = made.made["py313"]
    assert (one.name, one.package, one.folder) == ("uvi-corn", "uvi-corn==0.54.0", "py313/0-1")
    assert two.package == "uvi-corn==0.54.0+g1a2b3c4"
    assert three.package == f"uvi-corn==0.55.0.dev1+x.{three.content[:7]}"
    assert [fact["from"] for fact in made.facts()] == [
        "the release, from the package index",
        "commit 1a2b3c4d5e6f (./u@main)",
        "folder ./u, commit 1a2b3c4d5e6f, with uncommitted changes",
    ]
    assert len({side.sha256 for side in made.made["py313"]}) == 3
    write_wheels(tmp_path, made)
    assert read_wheels(tmp_path) == made


def test_equal_content_has_an_equal_name_and_is_refused_beside_itself(tmp_path: Path) -> None:
    for number, spec in enumerate(("./a", "./b")):
        item(tmp_path, number, spec, "folder")
        wheel(tmp_path, f"{number}-1", "1.0")
    words = r"equal sides: \./a and \./b give the same files \(uvi-corn==1\.0\+[0-9a-f]{7}\)"
    with pytest.raises(UserError, match=words):
        found(tmp_path)


def test_what_is_changed_together_is_no_version_of_its_own(tmp_path: Path) -> None:
    item(tmp_path, 0, "uvi-corn==1.0", "release")
    item(tmp_path, 1, "h11==0.9", "release", together="yes")
    wheel(tmp_path, "0-1", "1.0")
    wheel(tmp_path, "1-1", "0.9", name="h11")
    made = found(tmp_path)
    assert made.names == ["uvi-corn"] and [one.package for one in made.together("py313")] == ["h11==0.9"]
    assert [one.package for one in made.of("py313", "uvi-corn")] == ["uvi-corn==1.0"] and not made.of("py313", "h11")
    write_wheels(tmp_path / "out", made)
    assert read_wheels(tmp_path / "out") == made
    # An image gets all that is in one folder.
    assert [*(tmp_path / "out/py313/0-1/with/1-1").iterdir()] and not (tmp_path / "out/py313/1-1/with").exists()
    item(tmp_path, 2, "h11==0.10", "release", together="yes")
    wheel(tmp_path, "2-1", "0.10", "other", name="h11")
    assert "--with h11: it is changed already" in str(refused(UserError, found, tmp_path))
    failed(tmp_path, "3-1", "ERROR: No matching distribution found for h11==99\n", "h11==99")
    item(tmp_path, 3, "h11==99", "release", together="yes")
    with pytest.raises(UserError, match="--with h11==99: No matching distribution found"):
        found(tmp_path)


def test_a_name_that_is_too_long_for_a_host_is_shortened() -> None:
    name = with_package(MATRIX, service(), "werkzeug==2.0.3 flask==2.0.2 jinja2==3.0.1").name
    assert name.startswith("gunicorn-sync-flask-werkzeug-2-0-3-flask-2-0-2-") and len(name) <= 63
    other = with_package(MATRIX, service(), "werkzeug==2.0.3 flask==2.0.2 jinja2==3.0.2").name
    assert with_package(MATRIX, service(), "werkzeug==2.0.3 flask==2.0.2").name != name != other
    with pytest.raises(UserError, match="'flask' is not NAME==VERSION"):
        with_package(MATRIX, service(), "werkzeug==2.0.3 flask")


def test_every_python_has_the_day_of_its_release() -> None:
    days = [date.fromisoformat(python.released) for python in MATRIX.pythons.values()]
    assert days[:-1] == sorted(days[:-1]) and len(days) > 7


def test_a_rung_that_cannot_be_had_is_left_out_with_its_cause(tmp_path: Path) -> None:
    item(tmp_path, 0, "uvi-corn==1.*,2.*,3.*", "ladder")
    wheel(tmp_path, "0-1", "1.9")
    failed(tmp_path, "0-2", "ERROR: No matching distribution found for uvi-corn==2.*\n", "uvi-corn==2.*")
    wheel(tmp_path, "0-3", "3.1")
    sides = found(tmp_path).made["py313"]
    assert [side.package for side in sides] == ["uvi-corn==1.9", "", "uvi-corn==3.1"]
    assert sides[1] == Wheel(0, "uvi-corn", "2.*", cause="No matching distribution found for uvi-corn==2.*")


OTHER_PYTHON = (OUTPUTS / "pip-other-python.txt").read_text()
BUILD = (OUTPUTS / "pip-build-failed.txt").read_text()


FAILURES = [
    (OTHER_PYTHON, "uvi-corn==2.1.0", "it needs another Python: <3.9"),
    (OTHER_PYTHON, "uvi-corn==2.*", "it needs another Python: >=3.6,<3.10"),
    (BUILD, "", "it does not build: ModuleNotFoundError: No module named 'nowhere'"),
    ("ERROR: x.whl is not a supported wheel.\n", "", "x.whl is not a supported wheel."),
    ("ERROR: Exception:\nTraceback ...:\nOSError: [Errno 28] No space\n", "", "OSError: [Errno 28] No space"),
    ("", "", "pip printed no reason"),
]


@pytest.mark.parametrize(("words", "requirement", "cause"), FAILURES)
def test_what_stands_by_itself_has_to_be_there(tmp_path: Path, words: str, requirement: str, cause: str) -> None:
    item(tmp_path, 0, "the-spec", "release")
    failed(tmp_path, "0-1", words, requirement)
    assert str(refused(UserError, found, tmp_path)) == f"--package the-spec: {cause}"


def made_on_one_of_two(folder: Path, requirement: str = "") -> Wheels:
    """The wheels of an item that Python 3.9 has and 3.13 lacks; the resolver names it as `requirement`."""
    wheel(folder, "0-1", "1.0")
    (folder / "out/py39").mkdir()
    (folder / "out/py313/0-1").rename(folder / "out/py39/0-1")
    failed(folder, "0-1", OTHER_PYTHON, requirement)
    return wheels_of(folder / "items", folder / "out", ["py313", "py39"])


def test_what_one_python_lacks_is_left_out_there(tmp_path: Path) -> None:
    item(tmp_path, 0, "a-release", "release")
    made = made_on_one_of_two(tmp_path, "uvi-corn==2.1.0")
    assert [bool(side.cause) for label in ("py313", "py39") for side in made.made[label]] == [True, False]


def test_a_source_that_one_python_cannot_build_keeps_its_name_there(tmp_path: Path) -> None:
    item(tmp_path, 0, "./a", "folder")
    made = made_on_one_of_two(tmp_path)
    assert made.names == [made.made["py39"][0].name] and made.made["py313"][0].cause


def test_a_file_that_is_no_wheel_is_named(tmp_path: Path) -> None:
    item(tmp_path, 0, "x.whl", "wheel")
    (tmp_path / "out/py313/0-1").mkdir(parents=True)
    (tmp_path / "out/py313/0-1/x.whl").write_text("no")
    assert "x.whl: x.whl is not a wheel" in str(refused(UserError, found, tmp_path))
    (tmp_path / "out/py313/0-1/x.whl").unlink()
    wheel(tmp_path, "0-2", "1.0")
    (made,) = (tmp_path / "out/py313/0-2").glob("*.whl")
    data = made.read_bytes()
    for change in (lambda at: at + 8, lambda at: at + 10):  # flags: encrypted; method: 1, which is none of ours
        edited = bytearray(data)
        edited[change(data.rindex(b"PK\1\2"))] = 1
        made.write_bytes(edited)
        assert "is not a wheel" in str(refused(UserError, found, tmp_path))
    made.unlink()
    for name in ("x", "0-1-1", "0-\u00b2"):
        (tmp_path / "out/py313" / name).mkdir()
    wheel(tmp_path, "0-3", "1.0", name="a b")
    assert "is not the name and version" in str(refused(UserError, found, tmp_path))


def test_a_description_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "packages.json").write_text('{"schema": 2}')
    with pytest.raises(UserError, match="does not describe packages: another schema"):
        read_wheels(tmp_path)
    assert Wheels((Asked("a", "folder"),), {}).names == []


def test_a_wheel_that_unpacks_to_more_than_memory_is_none(tmp_path: Path) -> None:
    for name, size, stated, words in (
        ("big/a", 300 << 20, 300 << 20, ""),
        ("x-1.dist-info/METADATA", 65 << 20, 65 << 20, "64 MiB"),
        # What a member states is enough, because no more of it is read.
        ("big/a", 1 << 20, (2 << 30) + 1, "2 GiB"),
    ):
        folder = tmp_path / (words or "fits")
        item(folder, 0, "x.whl", "wheel")
        wheel(folder, "0-1", "1.0")
        (made,) = (folder / "out/py313/0-1").glob("*.whl")
        with zipfile.ZipFile(made) as file:
            kept = {one: file.read(one) for one in file.namelist()}
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            for one, data in kept.items():
                if not (name.endswith("METADATA") and one.endswith("METADATA")):
                    file.writestr(one, data)
            with file.open(name, "w", force_zip64=True) as member:
                for _ in range(0, size, 1 << 20):
                    member.write(bytes(1 << 20))
            file.getinfo(name).file_size = stated
        tracemalloc.start()
        refuses = pytest.raises(UserError, match=f"is not a wheel: it unpacks to more than {words}")
        with refuses if words else nullcontext():
            found(folder)
        # METADATA itself is read as a whole, up to its limit.
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["error.txt", "x.whl"])
def test_what_a_build_leaves_is_not_followed(name: str, tmp_path: Path) -> None:
    item(tmp_path, 0, "x", "folder")
    failed(tmp_path, "0-1", "no")
    (tmp_path / "secret").write_text("token")
    (tmp_path / "out/py313/0-1" / name).unlink(missing_ok=True)
    (tmp_path / "out/py313/0-1" / name).symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match=f"{name} is a link, which could lead out of its folder"):
        found(tmp_path)
