"""Published runs: their raw files are in an archive, and verbs read them unpacked, like any other run."""

from __future__ import annotations

import hashlib
import lzma
import shutil
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

from bench.core.errors import UserError
from bench.core.files import MAX_BYTES, MOST_FILES, MOST_UNPACKED, need_no_links

PACKED = "raw.tar.xz"
SUMS = "records.sha256"
"""Beside the archive: the sha256 of what is made from it, as sha256sum prints it, so that a change of it is seen."""
SUMMED = ("records.jsonl", "events.jsonl")
TOO_LARGE = f"it has more than {MOST_UNPACKED >> 30} GiB or {MOST_FILES} files"
MARK = ".archive.sha256"
"""In the unpacked folder: hashes of the files that it was unpacked from."""


def is_packed(folder: Path) -> bool:
    """Whether this is a published run in its committed form, with packed raw files."""
    return (folder / PACKED).is_file() and (folder / "run.json").is_file() and not (folder / "raw").exists()


def unpacked(published: Path, cache: Path) -> Path:
    """Unpack the run into `cache`, unless it is there and up to date; UserError if that fails."""
    need_no_links(published)
    folder, kept = cache / published.name, (published / name for name in (PACKED, "run.json"))
    content = "\n".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in kept)
    if _is_of(folder, content):
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".", dir=cache))
        made.chmod(0o755)
        try:
            with Unpacked(published / PACKED) as archive, tarfile.open(fileobj=archive) as files:
                for number, member in enumerate(files):
                    if number == MOST_FILES:
                        raise tarfile.TarError(TOO_LARGE)
                    files.extract(member, made, filter="data")
            for file in published.iterdir():
                if file.name != PACKED and file.is_file():
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


class Unpacked(lzma.LZMAFile):
    """An archive; TarError where it unpacks to more than MOST_UNPACKED, or a part that is read as a whole is large."""

    def read(self, size: int | None = -1) -> bytes:
        """As of any file."""
        data = super().read(MAX_BYTES + 1 if size is None or size < 0 else min(size, MAX_BYTES + 1))
        if len(data) > MAX_BYTES or self.tell() > MOST_UNPACKED:
            raise tarfile.TarError(TOO_LARGE)
        return data


def sums_of(folder: Path) -> str:
    """The content of `SUMS` for a run with its records."""
    made = (folder / name for name in SUMMED)
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in made if file.exists())


def _is_of(folder: Path, content: str) -> bool:
    with suppress(OSError):
        return (folder / MARK).read_text() == content
    return False
