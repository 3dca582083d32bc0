"""Copies images from this machine's engine to another one."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from driver.docker import client, docker, end, spawn
from driver.failure import RUN, Failure
from driver.swarm.members import answer

HARNESS = ("bench/loadgen", "bench/postgres", "bench/upstream")
"""Images that every run needs."""
SAME_IMAGE = (
    "{{json .RootFS.Layers}} {{json .Config.Env}} {{json .Config.Cmd}} {{json .Config.Entrypoint}} "
    "{{.Config.User}} {{.Config.WorkingDir}}"
)
"""What makes two images the same; ids may differ between engines."""
TRANSFER_S = 6 * 3600.0


def has_image(context: str, image: str, reference: str) -> bool:
    """Whether `reference` on that engine is the same as `image` here."""
    here = answer("image", "inspect", "--format", SAME_IMAGE, image, context="")
    return here is not None and here == _image_there(context, reference)


def copy_images(context: str, images: Sequence[str]) -> None:
    """Copies those that the engine lacks, in one stream."""
    lacks = [image for image in images if not has_image(context, image, image)]
    if not lacks:
        return
    saving = spawn([client(), "save", *lacks], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        docker("load", "--quiet", context=context, stdin=saving.stdout, timeout=TRANSFER_S)
    finally:
        end(saving)
    for image in lacks:
        need_same(context, image, image)


def need_same(context: str, image: str, reference: str) -> None:
    """Failure if the image there is not the one here."""
    if not has_image(context, image, reference):
        raise Failure(RUN, f"context {context} gets another {image} than the one that is here")


def _image_there(context: str, reference: str) -> str | None:
    return answer("image", "inspect", "--format", SAME_IMAGE, reference, context=context, timeout=60)
