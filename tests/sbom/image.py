"""What an image holds, as its own package databases list it, and the CycloneDX document of that."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

SCHEMA = SchemaVersion.V1_6
SECTIONS = ("inspect", "os-release", "os", "python", "go")
"""Of what scripts/sbom.sh collects (`docker image inspect`, then list.sh), apart by form feeds."""


def document(collected: str) -> str:
    """The JSON of an image. The same image gives the same bytes: number and time are the image's own."""
    parts = dict(zip(SECTIONS, collected.split("\f"), strict=True))
    (image,) = json.loads(parts["inspect"])
    release = os_release(parts["os-release"])
    held = list(components(release, parts))
    digests = [Property(name="docker:repo_digest", value=digest) for digest in image.get("RepoDigests") or ()]
    name = (image.get("RepoTags") or [image["Id"]])[0]
    root = Component(
        name=name.removesuffix(":latest"),
        version=image["Id"],
        type=ComponentType.CONTAINER,
        bom_ref=image["Id"],
        properties=digests,
    )
    made = datetime.fromisoformat(re.sub(r"\.\d+", "", image["Created"]).replace("Z", "+00:00"))
    bom = Bom(
        components=held,
        serial_number=uuid5(NAMESPACE_URL, image["Id"]),
        metadata=BomMetaData(component=root, timestamp=made),
    )
    bom.register_dependency(root, held)
    return make_outputter(bom, OutputFormat.JSON, SCHEMA).output_as_string(indent=2) + "\n"


def os_release(text: str) -> dict[str, str]:
    """The fields of /etc/os-release."""
    return dict(word.split("=", 1) for word in shlex.split(text, comments=True) if "=" in word)


def components(release: Mapping[str, str], parts: Mapping[str, str]) -> Iterator[Component]:
    """The operating system, then every package of it, of Python and of Go binaries, each once."""
    system = release["ID"]
    # Debian's testing has a code name and no number yet.
    version = release.get("VERSION_ID") or release.get("VERSION_CODENAME", "")
    yield Component(name=system, version=version, type=ComponentType.OPERATING_SYSTEM, bom_ref=f"os:{system}@{version}")
    for name, number, architecture in _rows(parts["os"]):
        qualifiers = {"arch": architecture, "distro": f"{system}-{version}"}
        yield _package(
            PackageURL("apk" if system == "alpine" else "deb", system, name, number, qualifiers), name, number
        )
    for name, number in _rows(parts["python"]):
        # As a package URL has it; the index takes all spellings.
        yield _package(PackageURL("pypi", None, re.sub(r"[-_.]+", "-", name).lower(), number), name, number)
    for module, number in _rows(parts["go"]):
        namespace, _, name = module.rpartition("/")
        yield _package(PackageURL("golang", namespace, name, number), module, number)


def _rows(section: str) -> list[tuple[str, ...]]:
    return sorted({tuple(line.split("\t")) for line in section.splitlines() if line.strip()})


def _package(url: PackageURL, name: str, version: str) -> Component:
    return Component(name=name, version=version, type=ComponentType.LIBRARY, purl=url, bom_ref=url.to_string())


def summary(text: str) -> str:
    """How many packages of which kind a document lists."""
    found: dict[str, Any] = json.loads(text)
    urls = [one["purl"] for one in found["components"] if "purl" in one]
    kinds = {kind: sum(url.startswith(f"pkg:{kind}/") for url in urls) for kind in ("deb", "apk", "pypi", "golang")}
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count) or "no packages"
