"""Published runs: their raw files are in an archive, and verbs read them unpacked, like any other run."""

from __future__ import annotations

import hashlib
import lzma
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.core.errors import UserError

PACKED = "raw.tar.xz"
SUMS = "records.sha256"
"""Beside the archive: the sha256 of what is made from it, as sha256sum prints it, so that a change of it is seen."""
SUMMED = ("records.jsonl", "events.jsonl")
MOST_BYTES, BLOCK = 2 << 30, 512
MARK = ".archive.sha256"
"""In the unpacked folder: hashes of the files that it was unpacked from."""


def is_packed(folder: Path) -> bool:
    """Whether this is a published run in its committed form, with packed raw files."""
    return (folder / PACKED).is_file() and (folder / "run.json").is_file() and not (folder / "raw").exists()


def unpacked(published: Path, cache: Path) -> Path:
    """Unpack the run into `cache`, unless it is there and up to date; UserError if that fails."""
    folder, kept = cache / published.name, (published / name for name in (PACKED, "run.json"))
    content = "\n".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in kept)
    if _is_of(folder, content):
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".", dir=cache))
        made.chmod(0o755)
        try:
            with tarfile.open(published / PACKED) as files:
                files.extractall(made, filter=_limited())
            for file in published.iterdir():
                if file.name != PACKED and file.is_file() and not file.is_symlink():
                    shutil.copy(file, made)
            (made / MARK).write_text(content)
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            # Another process may have unpacked it at the same time.
            if not _is_of(folder, content):
                raise
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise UserError(f"{published / PACKED} cannot be unpacked: {error}; check it out again") from error
    except OSError as error:
        words = f"cannot unpack {published} into {cache}: {error.strerror}; free some space or fix its owner"
        raise UserError(words) from error
    return folder


def _limited() -> Callable[[tarfile.TarInfo, str], tarfile.TarInfo | None]:
    """A filter of members that ends an archive which unpacks to more than MOST_BYTES."""
    left = MOST_BYTES

    def check(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
        nonlocal left
        left -= member.size + BLOCK
        if left < 0:
            raise tarfile.TarError(f"it has more than {MOST_BYTES >> 30} GiB")
        return tarfile.data_filter(member, folder)

    return check


def sums_of(folder: Path) -> str:
    """The content of `SUMS` for a run with its records."""
    made = (folder / name for name in SUMMED)
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in made if file.exists())


def _is_of(folder: Path, content: str) -> bool:
    try:
        return (folder / MARK).read_text() == content
    except OSError:
        return False
