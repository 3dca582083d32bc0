"""Which pins have a musl wheel: the file that alpine.Dockerfile passes to pip with each lock.

`locks/pyXYZ/musl.txt` holds pip options, so that only packages without such a wheel are built from source, and a
comment with the answer for every pin. Answers are kept; scripts/lock.sh --upgrade queries the index again.
"""

import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

NAME = "musl.txt"
HEADER = """\
# Written by scripts/lock.sh, which asked for a wheel for musl, or for any platform, of every pin here.
# What has none is built from its source, and nothing else is.
--only-binary :all:
"""
PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*==[^\s;\\]+)", re.MULTILINE)
ANSWER = re.compile(r"^# (\S+==\S+): (wheel|source|neither)$", re.MULTILINE)


def answers(folder: Path, python: str, kept: Path) -> str:
    """The text of musl.txt for the locks in `folder`; pins that `kept` answers are not queried again."""
    pins = sorted({pin for lock in folder.glob("*.txt") for pin in PIN.findall(lock.read_text(encoding="utf-8"))})
    known = dict(ANSWER.findall(kept.read_text(encoding="utf-8"))) if kept.exists() else {}
    new = [pin for pin in pins if pin not in known]
    known |= dict.fromkeys(new, "wheel")
    known |= {pin: "source" if _has_source(pin) else "neither" for pin in _without_wheel(new, python)}
    return render({pin: known[pin] for pin in pins})


def render(found: Mapping[str, str]) -> str:
    """The text of musl.txt for these answers."""
    names = sorted({pin.partition("==")[0] for pin, answer in found.items() if answer != "wheel"})
    options = "".join(f"--no-binary {name}\n" for name in names)
    return HEADER + options + "".join(f"# {pin}: {answer}\n" for pin, answer in found.items())


def _without_wheel(pins: Collection[str], python: str) -> Iterable[str]:
    """Query all at once, and bisect where that fails (as it does with two versions of one package)."""
    pins = list(pins)
    if not pins or _wheels(pins, python):
        return []
    half = len(pins) // 2
    return [*_without_wheel(pins[:half], python), *_without_wheel(pins[half:], python)] if half else pins


def _wheels(pins: Iterable[str], python: str) -> bool:
    argv = ["uv", "pip", "compile", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-python-downloads"]
    argv += ["--python-version", python, "--python-platform", "x86_64-unknown-linux-musl", "-"]
    done = subprocess.run(argv, input="\n".join(pins), capture_output=True, text=True, check=False)
    # Any other failure, such as an unreachable index, must not count as "no wheel".
    if done.returncode and "No solution found" not in done.stderr:
        sys.stderr.write(done.stderr)
        done.check_returncode()
    return done.returncode == 0


def _has_source(pin: str) -> bool:
    name, _, version = pin.partition("==")
    argv = [sys.executable, "-m", "pip", "index", "versions", "--no-binary", ":all:", "--pre", name]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    listed = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    return listed is not None and version in listed[1].split(", ")
