"""The values of --package as files to build from; git is real."""

from __future__ import annotations

import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest
from captured import refused
from tables import cases, rows

from driver.failure import Failure
from driver.planning.packages import TOGETHER, take_package


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with three commits, the second tagged v1, and an ignored folder."""
    for who, what in product(("AUTHOR", "COMMITTER"), ("NAME", "EMAIL")):
        monkeypatch.setenv(f"GIT_{who}_{what}", "a@b")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "a repo"
    for name in ("pkg", "build"):
        (folder / name).mkdir(parents=True)
    (folder / ".gitignore").write_text("build\n")
    (folder / "build/old").touch()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    for number in "123":
        (folder / "pkg/code.py").write_text(number)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", number)
        if number == "2":
            git(folder, "tag", "v1")
    return folder


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout.strip()


def taken(spec: object) -> Path:
    """The new folder with the files for a value of --package."""
    item = Path("item").resolve()
    shutil.rmtree(item, ignore_errors=True)
    take_package(item, str(spec))
    assert (item / "spec").read_text() == str(spec)
    return item


def text(item: Path, name: str) -> str:
    return (item / name).read_text()


RELEASES = [
    ("a==23.0.0", "release", ["a==23.0.0"]),
    ("a==21.*,23.0.0,last:3,a==27.*", "ladder", ["a==21.*", "a==23.0.0", "a==last:3", "a==27.*"]),
    ("a==last:10", "ladder", ["a==last:10"]),
]


@pytest.mark.parametrize(("spec", "kind", "releases"), RELEASES)
def test_releases_and_ladders(repository: Path, spec: str, kind: str, releases: list[str]) -> None:
    item = taken(spec)
    assert (text(item, "kind"), text(item, "releases").splitlines()) == (kind, releases)


@pytest.mark.parametrize(("spec", "words"), cases(dict(rows(__file__, "not_there"))))
def test_what_is_not_there_is_refused_by_name(repository: Path, spec: str, words: str) -> None:
    Path("plain").mkdir()
    (repository / "new").mkdir()
    failure = refused(Failure, taken, spec)
    assert failure.status == 2 and words in failure.words


def test_what_is_changed_together_is_one_version(tmp_path: Path) -> None:
    for spec in ("a==last:2", "a==1,2", "a==1.*"):
        with pytest.raises(Failure, match=r"--with '.*': give one version"):
            take_package(tmp_path / spec, spec, TOGETHER)
    with pytest.raises(Failure, match=r"--with: there is no file 'a\.whl'"):
        take_package(tmp_path / "file", "a.whl", TOGETHER)
    take_package(tmp_path / "item", "a==1", TOGETHER)
    assert (tmp_path / "item/together").exists()


def test_a_folder_is_copied_without_what_git_ignores_and_with_what_is_not_committed(repository: Path) -> None:
    git(repository, "config", "remote.origin.url", "https://me:ghp_token@example.org/x")
    git(repository, "config", "http.https://example.org/.extraheader", "AUTHORIZATION: basic token")
    # Submodules and other clones below it have their own.
    git(repository, "clone", "--quiet", ".", "sub")
    git(repository / "sub", "config", "remote.origin.url", "https://me:ghp_token@example.org/x")
    git(repository, "add", "sub")
    git(repository, "commit", "--quiet", "--message", "4")
    for name in ("FETCH_HEAD", "credentials", "config~", "lfs/auth"):
        (repository / ".git" / name).parent.mkdir(exist_ok=True)
        (repository / ".git" / name).write_text("https://me:ghp_token@example.org/x")
    item = taken(repository)
    assert (text(item, "kind"), text(item, "commit")) == ("folder", git(repository, "rev-parse", "HEAD"))
    assert (item / "source/sub/.git/HEAD").exists()
    assert [path for path in item.rglob("*") if path.is_file() and b"token" in path.read_bytes()] == []
    assert not (item / "source/.git/hooks").exists() and not (item / "source/.git/logs").exists()
    assert text(item, "source/pkg/code.py") == "3"
    assert not (item / "changed").exists() and not (item / "source/build").exists()
    assert git(item / "source", "describe", "--tags").startswith("v1-2-g")
    (repository / "pkg/code.py").unlink()
    (repository / "pkg/new.py").symlink_to("nowhere")
    item = taken(repository / "pkg")
    assert (item / "changed").exists() and text(item, "subfolder") == "pkg"
    assert (item / "source/pkg/new.py").is_symlink() and not (item / "source/pkg/code.py").exists()


def test_a_folder_that_is_in_no_repository_is_all_there_is_but_for_what_tools_leave(tmp_path: Path) -> None:
    for name in ("pkg/.venv/bin", "pkg/build", "pkg/src/__pycache__"):
        (tmp_path / name).mkdir(parents=True)
    git(tmp_path, "init", "--quiet", "pkg/src")
    take_package(tmp_path / "item", str(tmp_path / "pkg"))
    assert {path.name for path in (tmp_path / "item/source").glob("**/*")} > {"build", "src", "HEAD"}
    assert not (tmp_path / "item/source/src/.git/config").exists()
    assert not (tmp_path / "item/commit").exists()


def test_a_commit_has_its_history_and_the_repository_is_as_it_was(repository: Path) -> None:
    third = git(repository, "rev-parse", "HEAD")
    git(repository, "reset", "--quiet", "--hard", "v1")
    (repository / "pkg/code.py").write_text("changed")
    for spec in (f"{repository}@{third}", f"git+file://{repository}@{third}"):  # in no branch
        item = taken(spec)
        assert (text(item, "kind"), text(item, "commit"), text(item, "source/pkg/code.py")) == ("commit", third, "3")
        assert git(item / "source", "describe", "--tags").startswith("v1-1-g")
    assert text(repository, "pkg/code.py") == "changed"
    item = taken(f"{repository}/pkg@v1~1")
    assert (text(item, "source/pkg/code.py"), text(item, "subfolder")) == ("1", "pkg")
    git(repository, "clone", "--quiet", "--depth", "1", f"file://{repository}", str(repository.with_name("shallow")))
    assert text(taken("shallow@HEAD"), "source/pkg/code.py") == "2"


@pytest.mark.parametrize(("name", "kind"), [("a-1-py3-none-any.whl", "wheel"), ("a-1.tar.gz", "sdist")])
def test_a_file_is_taken_as_it_is(repository: Path, name: str, kind: str) -> None:
    Path(name).touch()
    item = taken(name)
    assert text(item, "kind") == kind and (item / name).exists()
