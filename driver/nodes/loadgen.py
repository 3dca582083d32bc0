"""A load generator on another machine: sends it the project and inputs, and fetches raw files, by `docker exec`."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from driver.docker import CONFINED, LONGEST_S, DockerError, Done, client, docker, end, or_failure, reach, spawn
from driver.failure import RUN, warn
from driver.files import save
from driver.messages import STEP, read
from driver.nodes.node import ADDRESSES, Node
from driver.run import Run

VOLUMES = ("source", "results", "secrets")
PROJECT = ("bench", "driver", "loadgen", "scripts", "services", "postgres/password", ".env")
FILL = """
    tar --extract --no-same-owner --directory /to/source && mkdir -p /to/source/results && chmod 1777 /to/results &&
        cp /to/source/postgres/password /to/secrets/database_password && chmod -R a+rX /to/source /to/secrets"""
TAKE = """
    mkdir -p "results/$0" && cd "results/$0" && rm -rf "$1" &&
        tar --extract --touch --no-same-owner && touch "$1/.sent" """
GIVE = r"""set -e -o pipefail; cd "results/$0"
    find "$1" -type f -newer "$1/.sent" ! -name .sent -print0 | sort -z >/tmp/files-$$
    xargs -0 -r sha256sum </tmp/files-$$ >.sums-$$
    tar --create --transform "s|^\.sums-.*|SHA256SUMS|" --null --files-from /tmp/files-$$ .sums-$$
    rm /tmp/files-$$ .sums-$$"""
SUMS = "SHA256SUMS"
HOME_S = 3600.0


def fill_volumes(run: Run, node: Node) -> None:
    """Creates and fills the run's volumes on a machine: project, results, database password."""
    mounts = []
    project = _archive(((run.root / name, name) for name in PROJECT), recursive=True)
    with or_failure(RUN, f"the project cannot be copied to node {node.name}"):
        for part in VOLUMES:
            name = f"{run.project}-{part}"
            docker("volume", "create", "--label", run.label, name, context=node.context)
            mounts += ["--volume", f"{name}:/to/{part}:nocopy"]
        options = ("--rm", "--interactive", "--network", "none", *CONFINED, "--memory", "256m", "--user", "0:0")
        words = ("bench/loadgen", "sh", "-c", FILL)
        docker("run", *options, *mounts, *words, context=node.context, stdin=project)


def in_far_loadgen(
    run: Run, context: str, container: str, words: Sequence[str], *, log: Path | None = None, folder: str = ""
) -> Done:
    """Runs a command in it. With a `folder`, sends inputs before, and fetches files after, whatever the status."""
    if folder:
        # The plan, the step, and files of earlier verbs, after emptying the folder there.
        take = ("exec", "--interactive", container, "sh", "-c", TAKE, run.name, folder)
        try:
            docker(*take, context=context, stdin=inputs(run, folder))
        except DockerError as error:
            words = f"the load generator cannot be sent its input: {error}"
            if log:
                save(log, words + "\n")
            return Done(RUN, "", words)
    done = docker("exec", container, *words, context=context, check=False, log=log, timeout=LONGEST_S)
    if folder and not _bring_home(run, context, container, folder):
        return Done(RUN, done.out, done.err)
    return done


def _bring_home(run: Run, context: str, container: str, folder: str) -> bool:
    """Fetches files written since inputs were sent, all or none, checked by sha256."""
    argv = [client(), *reach(context), "exec", container, "bash", "-c", GIVE, run.name, folder]
    giving = spawn(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    data = b""
    try:
        with suppress(subprocess.TimeoutExpired):
            data, _ = giving.communicate(timeout=HOME_S)
    finally:
        end(giving)
    files = _whole(data) if giving.returncode == 0 else None
    if files is None:
        warn(f"the load generator's files of {folder} arrived incomplete")
        return False
    for name, content in files.items():
        path = run.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return True


def inputs(run: Run, folder: str) -> bytes:
    """The inputs as a tar archive. It has the (empty) folders of repeated windows, because these are counted."""
    (run.folder / folder).mkdir(parents=True, exist_ok=True)
    return _archive(_inputs(run, folder), recursive=False)


def _inputs(run: Run, folder: str) -> Iterator[tuple[Path, str]]:
    here, lane_folder = run.folder, run.lane_folder
    planned = (read(lane_folder / STEP) or {}).get("planned", ())
    # Another pair of nodes may have searched for the knee.
    knees = sorted(here.glob("raw/r*/**/knee.json")) if any(line.get("knee_p99_s") for line in planned) else []
    of_run = [here / "run.json", here / "plan.jsonl", here / ADDRESSES, *knees]
    said = [*here.glob(f"{folder}/services/*.status"), *here.glob(f"{folder}/services/*.txt")]
    again = [path for path in here.glob("raw/**/*.spoiled-*") if path.is_dir()]
    yield here / folder, folder
    for path in (lane_folder / name for name in (STEP, "containers.json")):
        if path.exists():
            yield path, path.name
    for path in dict.fromkeys((*of_run, *sorted(said), *sorted(again))):
        if path.exists():
            yield path, str(path.relative_to(here))


def _whole(data: bytes) -> dict[str, bytes] | None:
    """The files of an archive by name; None if it is truncated or a checksum differs."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            files = {}
            for member in tar.getmembers():
                content = tar.extractfile(member)
                files[member.name] = content.read() if content else b""
    except (tarfile.TarError, OSError):
        return None
    if (sums := files.pop(SUMS, None)) is None:
        return None
    told = {name: wanted for wanted, _, name in (line.partition("  ") for line in sums.decode().splitlines())}
    safe = all(not name.startswith("/") and ".." not in Path(name).parts for name in files)
    return files if safe and told == {name: sha256(content).hexdigest() for name, content in files.items()} else None


def _archive(parts: Iterable[tuple[Path, str]], *, recursive: bool) -> bytes:
    """A tar archive of files and folders, given as (path, name in the archive)."""
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for path, name in parts:
                tar.add(path, name, recursive=recursive, filter=lambda one: None if "__pycache__" in one.name else one)
        return file.getvalue()
