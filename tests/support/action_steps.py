"""Translates a composite action to bash: a call of `step` for each step, and of `result` for each output.

runner.bash defines both. `python3 tests/support/action_steps.py action.yml [INPUT=VALUE]...`; arguments of the form
`github.*=VALUE` describe the event. Refuses unknown inputs, unknown expressions, and expressions inside bash code.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

EXPRESSION = re.compile(r"\$\{\{ ([a-z._-]+) \}\}")
OUTPUT = re.compile(r"steps\.([a-z-]+)\.outputs\.([a-z-]+)\Z")


def script(action: Mapping[str, Any], given: Mapping[str, str]) -> str:
    """The bash of an action with these inputs."""
    known = {f"inputs.{name}": str(value["default"]) for name, value in action["inputs"].items()}
    for name, value in given.items():
        place = name if name.startswith("github.") else f"inputs.{name}"
        if place not in known and not name.startswith("github."):
            raise SystemExit(f"the action has no input '{name}'")
        known[place] = value
    lines, ids = [], set[str]()
    if action["runs"]["using"] != "composite":
        raise SystemExit("not a composite action")
    for step in action["runs"]["steps"]:
        if step["shell"] != "bash" or "${{" in step["run"] or set(step) - {"id", "name", "shell", "env", "run"}:
            raise SystemExit(f"step {step['id']} is more than bash with an environment")
        env = [f"{name}={bash_word(value, known, ids)}" for name, value in step["env"].items()]
        lines.append(" ".join(["step", step["id"], shlex.quote(step["run"]), *env]))
        ids.add(step["id"])
    lines += [f"result {name} {bash_word(one['value'], known, ids)}" for name, one in action["outputs"].items()]
    return "\n".join(lines) + "\n"


def bash_word(text: str, known: Mapping[str, str], ids: set[str]) -> str:
    """A value of the file as one word of bash; outputs of earlier steps are looked up at run time."""
    parts = EXPRESSION.split(text)
    if any("${{" in literal for literal in parts[::2]):
        raise SystemExit(f"an expression that is not known here: {text}")
    words = [shlex.quote(part) if part else "" for part in parts]
    for place in range(1, len(parts), 2):
        output = OUTPUT.match(parts[place])
        if output and output[1] in ids:
            words[place] = f'"${{outputs[{output[1]}.{output[2]}]:-}}"'
        elif parts[place] in known or parts[place].startswith("github."):
            words[place] = shlex.quote(known.get(parts[place], ""))
        else:
            raise SystemExit(f"nothing is known of {parts[place]}")
    return "".join(words) or "''"


def main(argv: list[str]) -> None:
    """Print the bash code of an action."""
    action = YAML(typ="safe").load(Path(argv[0]))
    print(script(action, dict(word.split("=", 1) for word in argv[1:])), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
