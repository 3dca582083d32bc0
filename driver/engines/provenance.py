"""Saves what a service's image is made of, as raw files: packages, Python build, JIT, base image."""

from __future__ import annotations

import shlex

from driver.docker import CONFINED, DockerError, docker
from driver.failure import USER, Failure
from driver.files import save, text_of
from driver.run import ROOT, Run

JIT = ROOT / "services/jit.py"
ASKED = {
    "packages": "cat /app/packages.txt",
    "python": "python3 -VV",
    "os-release": "cat /etc/os-release",
    "jit": 'python3 -c "$0"',
}
APART = "\f"


class ImageError(DockerError):
    """What runs in a service's image does not end, or prints too much."""


def save_provenance(run: Run, service: str) -> None:
    """Writes the files, image.id last. Failure if the image of a resumed run has changed."""
    folder, facts = run.service_folder(service), run.services[service]
    image = facts.image
    image_id = _of_image(image, "{{.Id}}")
    if (known := text_of(folder / "image.id")) is not None:
        if known.strip() != image_id:
            raise Failure(USER, f"the image of {service} has changed since {run.name} began: start a new run")
        return
    settings = shlex.split(f"PYTHON_JIT={run.setting('PYTHON_JIT', '0')} {facts.settings}")
    name = f"{run.project}-{service}-provenance"
    argv = ["run", "--rm", "--name", name, "--label", f"bench.run={run.project}"]
    argv += ["--network", "none", *CONFINED, "--memory", "512m"]
    argv += ["--ulimit", f"nofile={run.setting('NOFILE', '16384')}", "--tmpfs", "/tmp:mode=1777", "--entrypoint", ""]
    argv += [f"--env={setting}" for setting in settings]
    # One container for all questions; form feeds separate the answers.
    script = ' && printf "\\f" && '.join(ASKED.values())
    try:
        answers = docker(*argv, image, "sh", "-c", script, JIT.read_text(), timeout=60).out.split(APART)
    except DockerError as error:
        docker("rm", "--force", name, check=False)
        raise ImageError(str(error)) from error
    for asked, part in zip(ASKED, answers):
        save(folder / f"{asked}.txt", part.removesuffix("\n") + "\n")
    save(folder / "image.json", docker("image", "inspect", image).out)
    save(folder / "base.json", describe_base(facts.base_image, image))
    save(folder / "image.id", f"{image_id}\n")


def describe_base(base: str, image: str) -> str:
    """Name, id and registry digests (none for a local base) of the base image, as JSON.

    Checks that the image begins with the base's layers: another base may have taken that name since.
    """
    asked = '{{json .RootFS.Layers}} "id": {{json .Id}}, "repo_digests": {{json .RepoDigests}}'
    done = docker("image", "inspect", "--format", asked, base, check=False)
    layers, _, known = ("" if done.status else done.out.strip()).partition(" ")
    of_image = _of_image(image, "{{json .RootFS.Layers}}")
    if not (layers.startswith('["') and of_image.startswith((f"{layers[:-1]}]", f"{layers[:-1]},"))):
        known = '"missing": "the base that it was built on is not here under this name"'
    return f'{{"name": "{base}", {known}}}\n'


def _of_image(image: str, form: str) -> str:
    return docker("image", "inspect", "--format", form, image).out.strip()
