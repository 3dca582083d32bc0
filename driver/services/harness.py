"""`harness`: builds the images that every run needs, and checks the engine on which they run."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from driver.compose import in_tools, project_compose
from driver.docker import LONGEST_S, SET_UP, client, docker, engine_environment, kind_words, kinds
from driver.failure import RUN, USER, Failure, say
from driver.files import save, text_of
from driver.run import ROOT

HARNESS = ("loadgen", "postgres", "upstream")
IMAGES = tuple(f"bench/{name}" for name in HARNESS)
"""Images that every run needs."""
COMPILED = ROOT / "bench/__pycache__/compiled.txt"
"""The image and the files for which there is bytecode."""
LOCAL_BASES = ROOT / "services/.env"
"""Where scripts/setup.sh notes that local bases stand in for a registry that could not be reached."""
NOT_BUILT = 3
"""Exit status of `harness check`."""
LACKS = {
    "no-cpuset": "this engine cannot pin containers to CPUs (rootless without the cpuset controller): server, load "
    "generator and database share them (docs/engines.md)",
    "no-memory": "this engine cannot limit memory: MEMORY has no effect (docs/engines.md)",
    "podman": "podman: containers can reach this host's ports, at their network's first address (docs/engines.md)",
    "elsewhere": "the engine is in another machine (Docker Desktop, a virtual machine): memory and CPU time of "
    "services are null (docs/engines.md)",
}
"""What is missing with an engine of this kind."""


def main(argv: list[str]) -> int:
    """`harness client`: prints the Docker client. `harness engine`: also the kind of engine; Failure if it cannot work.

    `harness check`: as `engine`; the status is NOT_BUILT unless the images exist and are built from this source.
    `harness lacks`: prints what the engine lacks. `harness build`: builds the images if they are outdated, and compiles
    the package to bytecode.
    """
    verb = argv[0] if argv else ""
    if verb == "client":
        print(client())
    elif verb in ("engine", "check"):
        need_engine()
        print(client(), kind_words(), sep="\n")
        return NOT_BUILT if verb == "check" and not _is_built() else 0
    elif verb == "lacks":
        print_lacks()
    elif verb == "build":
        if not _is_built():
            _build()
        _compile()
    else:
        raise Failure(USER, f"harness takes client, engine, check, lacks or build, not '{verb}'")
    return 0


def need_engine() -> None:
    """Failure unless an engine answers that can write results."""
    if not kinds():
        raise Failure(USER, f"the Docker daemon does not answer: start it (systemctl start docker), or {SET_UP}")
    if "rootless" in kinds() and not os.geteuid():
        why = "this script runs as root, but the engine is rootless and cannot write to root's results/"
        raise Failure(USER, f"{why}: run it as the engine's user")


def print_lacks() -> None:
    """What this engine cannot do, a line each."""
    for kind, words in LACKS.items():
        if kind in kinds():
            say(words)


def is_set_up() -> bool:
    """Whether scripts/setup.sh would find nothing to do, except base images, which a build gets itself.

    It has to ask a registry again that could not be reached.
    """
    need_engine()
    has_local_bases = "LOCAL_PYTHON_IMAGE=" in (text_of(LOCAL_BASES) or "")
    return not has_local_bases and _is_built() and text_of(COMPILED) == _compiled_from()


def can_plan() -> bool:
    """Whether the images are here, one of which plans runs; without an engine, there are none."""
    with suppress(Failure):
        return _is_built()
    return False


def source_of(root: Path) -> str:
    """A digest of the files from which the images are built."""
    files = [file for name in HARNESS for file in (root / name).rglob("*")] + [root / "bench/requirements.txt"]
    names = sorted(str(file.relative_to(root)) for file in files if file.is_file() and not file.is_symlink())
    lines = (f"{sha256((root / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    return sha256("".join(lines).encode()).hexdigest()


def _is_built() -> bool:
    done = docker("image", "inspect", "--format", '{{index .Config.Labels "bench.source"}}', *IMAGES, check=False)
    return not done.status and set(done.out.split()) == {source_of(ROOT)}


def _build() -> None:
    say("building the load generator, PostgreSQL and the upstream")
    handle, name = tempfile.mkstemp()
    os.close(handle)
    log = Path(name)
    env = {**os.environ, **engine_environment(), "BENCH_SOURCE": source_of(ROOT)}
    words = ("build", "--progress", "plain", *HARNESS)
    if project_compose(ROOT, *words, env=env, log=log, check=False, timeout=LONGEST_S).status:
        print(*log.read_text(errors="replace").splitlines()[-30:], sep="\n", file=sys.stderr)
        raise Failure(RUN, f"the harness cannot be built; the end of {log} is above")
    log.unlink()


def _compile() -> None:
    """Compiles the package to bytecode, because it is mounted read-only later; not again for the same files and image.

    It makes Python start faster between two windows. Everything works without it, or with that of another version.
    """
    compiled = _compiled_from()
    if text_of(COMPILED) == compiled:
        return
    writable = ("--volume", f"{ROOT}/bench:/bench/bench")
    done = in_tools(ROOT, "python3", "-m", "compileall", "-q", "bench", docker_options=writable, check=False)
    if not done.status:
        with suppress(OSError):
            save(COMPILED, compiled)


def _compiled_from() -> str:
    """The content of COMPILED for the image and the files that are there."""
    files = ((path, path.stat()) for path in sorted((ROOT / "bench").rglob("*.py")))
    image = docker("image", "inspect", "--format", "{{.Id}}", IMAGES[0], check=False).out
    return image + "".join(f"{stat.st_mtime_ns} {stat.st_size} {path.relative_to(ROOT)}\n" for path, stat in files)
