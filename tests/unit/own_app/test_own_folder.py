"""The folder of a user's own app in its containers: filled from the image, with what --before has changed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from places import ROOT

OLD = 315619200
"""The time of all files of the image."""


class Image:
    """A stand-in for an image's /srv and the archive that --before leaves."""

    def __init__(self, root: Path) -> None:
        self.srv = root / "srv"
        self.archive = self.srv / "changes/changes.tar"
        for name in ("source/static", "changes", "../tmp"):
            (self.srv / name).mkdir(parents=True)
        self.write("main.py", "db-wal", "static/a.css", ".hidden", "a name\nin two lines")
        (self.srv / "source/link").symlink_to("main.py")
        (self.srv / "source/nowhere").symlink_to("/nowhere")
        for path in [*self.srv.rglob("*")]:
            os.utime(path, (OLD, OLD), follow_symlinks=False)

    def write(self, *names: str) -> None:
        for name in names:
            (self.srv / "source" / name).write_text(name)

    def run(self, script: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Runs one of services/own, with its folders below the stand-in."""
        text = (ROOT / "services/own" / script).read_text()
        text = re.sub("/(tmp|srv)/", lambda place: f"{self.srv.parent}/{place[1]}/", text)
        file = self.srv.parent / script
        file.write_text(text)
        file.chmod(0o755)
        return subprocess.run([str(file), *words], capture_output=True, check=True, timeout=60)

    def fill(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Starts a container that runs these words."""
        subprocess.run(["rm", "-rf", str(self.srv / "app")], check=True)
        (self.srv / "app").mkdir()
        return self.run("fill-folder", *(words or ("true",)))

    def prepare(self, command: str) -> None:
        """Runs this as --before, with a new volume."""
        self.archive.unlink(missing_ok=True)
        self.fill("sh", "-c", f"cd {self.srv}/app && {command}")
        self.archive.write_bytes(self.run("changes").stdout)

    def tree(self) -> dict[str, str]:
        """All that a container has in the folder, once it is filled anew."""
        self.fill()
        folder = self.srv / "app"
        return {
            str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_text()
            for path in folder.rglob("*")
            if path.is_symlink() or not path.is_dir()
        }


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return Image(tmp_path)


BEGIN = {
    **{name: name for name in ("main.py", "db-wal", "static/a.css", ".hidden", "a name\nin two lines")},
    **{"link": "main.py", "nowhere": "/nowhere"},
}


def test_each_container_begins_with_the_files_and_times_of_its_image_and_goes_on_with_its_command(image: Image) -> None:
    done = image.fill("sh", "-c", 'echo "$@"', "sh", "a b", "*")
    assert (done.stdout, done.stderr) == (b"a b *\n", b"")
    main = image.srv / "app/main.py"
    assert main.stat().st_mtime == OLD
    main.write_text("changed by a service")
    assert image.tree() == BEGIN
    with pytest.raises(subprocess.CalledProcessError) as ended:
        image.fill("sh", "-c", "exit 7")
    assert ended.value.returncode == 7


def test_what_before_writes_changes_and_removes_is_so_in_each_container(image: Image) -> None:
    image.prepare(
        "mkdir instance && echo rows >instance/app.db && echo new >main.py && rm db-wal link && ln -s static link"
    )
    changed = {**BEGIN, "instance/app.db": "rows\n", "main.py": "new\n", "link": "static"}
    del changed["db-wal"]
    assert image.tree() == changed
    (image.srv / "app/instance/app.db").write_text("rows of a service")
    assert image.tree() == changed


def test_what_before_leaves_as_it_is_stays_that_of_each_image(image: Image) -> None:
    image.prepare("echo rows >app.db; touch --date 1980-01-01 old")
    # Another Python's image, or that of another ref.
    image.write("main.py", "speed.cpython-314.so")
    (image.srv / "source/main.py").write_text("another ref")
    more = {"app.db": "rows\n", "old": "", "main.py": "another ref", "speed.cpython-314.so": "speed.cpython-314.so"}
    assert image.tree() == BEGIN | more
    image.prepare("true")
    assert image.tree() == BEGIN | {"main.py": "another ref", "speed.cpython-314.so": "speed.cpython-314.so"}


def test_a_folder_may_become_a_file_and_a_file_a_folder_and_modes_are_kept(image: Image) -> None:
    image.prepare(
        "rm -r static main.py && echo file >static && mkdir main.py && echo x >main.py/x && chmod 700 .hidden"
    )
    found = image.tree()
    assert (found["static"], found["main.py/x"], "static/a.css" in found) == ("file\n", "x\n", False)
    assert (image.srv / "app/.hidden").stat().st_mode & 0o777 == 0o700


def test_what_a_large_folder_has_is_linked_and_new_files_are_written_beside_it(image: Image) -> None:
    (image.srv / "large").touch()
    image.write("static/b.css")
    image.prepare("mkdir new; echo rows >new/app.db; rm db-wal main.py; echo new >main.py")
    done = image.fill()
    assert done.stderr.startswith(b"the app's folder has more than 128 MB: ")
    found = image.tree()
    assert (found["new/app.db"], found["main.py"], "db-wal" in found) == ("rows\n", "new\n", False)
    assert (found["static"], found[".hidden"]) == (f"{image.srv}/source/static", f"{image.srv}/source/.hidden")
    names = subprocess.run(["tar", "--list", "--file", image.archive], capture_output=True, check=True).stdout.decode()
    assert set(names.splitlines()) == {"./new/", "./new/app.db", "./main.py", "./.removed"}


@pytest.mark.parametrize(("files", "large"), [(32768, False), (32769, True)])
def test_a_folder_is_large_by_its_pages_in_memory_also_with_many_small_files(files: int, large: bool) -> None:
    (program,) = re.findall(r"awk '([^']*)'", (ROOT / "services/debian.Dockerfile").read_text())
    sizes = "".join(["0\n", "1\n" * (files - 2), "4097\n"])
    assert (subprocess.run(["awk", program], input=sizes, text=True, check=False).returncode == 0) == large


def test_the_line_about_a_large_folder_is_the_one_that_the_driver_looks_for() -> None:
    from driver.services.own_app import FILL, LARGE

    assert f'echo "{LARGE}' in (ROOT / "services/own/fill-folder").read_text()
    dockerfile = (ROOT / "services/debian.Dockerfile").read_text()
    assert f'ENTRYPOINT ["{FILL}"]' in dockerfile and "touch /layer/srv/large" in dockerfile
