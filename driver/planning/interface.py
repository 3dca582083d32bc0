"""Finds the interface of a user's own app, whose source does not show it, by importing it in an image of its own."""

from __future__ import annotations

import json
import os
import re
from secrets import token_hex

from driver.compose import FILE, setting
from driver.docker import docker
from driver.failure import USER, Failure, say
from driver.files import save_json, text_of
from driver.messages import OwnApp, message
from driver.planning.app_build import AppBuild
from driver.planning.tools import bench
from driver.run import Run
from driver.services.own_app import IMPORT_TIMEOUT, in_own_image, left_out, print_trace

PROGRAM = "services/own/interface.py"
SERVICE = "import"
SETTINGS = ("MEMORY", "PIDS", "NOFILE", "WORKERS", "DB_POOL_TOTAL")
"""Those of .env that a test import has in common with the services."""


def imported_interface(built: AppBuild, label: str, python: str) -> str:
    """What `PROGRAM` prints of the app, once its requirements are locked: `INTERFACE CLASS`.

    Failure with the app's own traceback if it does not import. As its services, it is given the values of its variables
    by Compose alone; unlike them, it has no network.
    """
    root, out = built.root, built.out
    app = message(OwnApp, json.loads((out / "app.json").read_text()))
    project = f"bench-planning-{os.getpid()}"
    settings = {**os.environ, **{name: setting(root, name) for name in SETTINGS}}
    run = Run(root, out.name, project, settings, {}, app)
    image, log, mark = f"{project}-app", out / "import.txt", token_hex(8)
    say(f"the source of {app.app} does not show its interface: importing it on Python {python}")
    image_words = ("--build-arg", "APP_BASE=bare", "--label", "bench.image=service", "--load", "--tag", image)
    built.run("the app's requirements cannot be installed", "own-app", python, out / "locks" / label, *image_words)
    service: dict[str, object] = {"image": image, "pull_policy": "never", "labels": {"bench.run": project}}
    service["extends"] = {"file": str(root / "services/template.yml").replace("$", "$$"), "service": "imported"}
    service["environment"] = {"APP": app.app, **dict.fromkeys(app.variables)}
    save_json(out / FILE, {"services": {SERVICE: service}})
    words, what = ["python3", "-c", (root / PROGRAM).read_text(), mark], f"{app.app} does not import on Python {python}"
    try:
        status = in_own_image(run, SERVICE, words, what=what, limit=IMPORT_TIMEOUT, log=log)
    finally:
        docker("image", "rm", "--force", image, check=False)
        (out / FILE).unlink()
    facts = re.findall(rf"^{mark} (\S{{1,20}} \S{{1,200}})$", text_of(log) or "", re.MULTILINE)
    if not status and facts:
        return str(facts[-1])
    hint = "mend that, or give --interface if it imports only where its services are (see --help)"
    _, last = print_trace(bench(root, "own-trace", f"results/{out.name}", f"results/{out.name}/{log.name}", hint))
    raise Failure(USER, ": ".join(filter(None, (what, last, left_out(built.folder, log)))))
