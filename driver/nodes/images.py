"""Copies images from this machine's engine to other machines: directly, or through a registry in a swarm.

The swarm's registry has its own network and publishes no port. A relay on each node listens on 127.0.0.1, which engines
trust without TLS, and forwards to the registry over that network. Nodes pull by digest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from driver.compose import project_compose, setting
from driver.docker import CONFINED, answer, docker, in_time, or_failure, pipe, reach
from driver.failure import RUN, USER, Failure, warn
from driver.nodes.node import Node
from driver.nodes.swarm import LABEL, Swarm, SwarmNode, support_label
from driver.parallel import together

SAME_IMAGE = (
    "{{json .RootFS.Layers}} {{json .Config.Env}} {{json .Config.Cmd}} {{json .Config.Entrypoint}} "
    "{{.Config.User}} {{.Config.WorkingDir}}"
)
"""What is equal for the same image on two engines; its ids may differ."""
TRANSFER_S = 6 * 3600.0
STACK = "bench"
IMAGE = "bench/registry"
RELAY = "bench-relay"
PORT = 5000
OF_STACK = f"label=com.docker.stack.namespace={STACK}"
REGISTRY = "registry"
NETWORK = "bench"
IMAGES = "images"
"""The network of the registry and the nodes' relays."""
KEPT = (
    *("image", "command", "entrypoint", "environment", "user", "working_dir", "init", "read_only", "cap_drop"),
    *("sysctls", "ulimits", "logging", "healthcheck", "stop_grace_period", "secrets"),
)
MOVED = ("tmpfs", "shm_size", "volumes", "mem_limit", "pids_limit", "networks")
"""Settings that have other names in a stack."""
LEFT_OUT = ("build", "pull_policy", "profiles", "depends_on")
"""Settings that mean nothing in a stack, and do not affect what a container may do."""
IGNORED = ("cpuset", "security_opt")
"""Settings that a swarm does not support."""


def has_image(context: str, image: str, reference: str) -> bool:
    """Whether `reference` on that engine is the same as `image` here."""
    asks = ("image", "inspect", "--format", SAME_IMAGE)
    here = answer(*asks, image, context="")
    return here is not None and here == answer(*asks, reference, context=context, timeout=60)


def copy_images(context: str, images: Sequence[str]) -> None:
    """Copies the images that the engine lacks, in one stream."""
    if lacks := [image for image in images if not has_image(context, image, image)]:
        pipe(("save", *lacks), (*reach(context), "load", "--quiet"), timeout=TRANSFER_S)
    for image in lacks:
        need_same(context, image, image)


def need_same(context: str, image: str, reference: str) -> None:
    """Failure if the image there is not the one here."""
    if not has_image(context, image, reference):
        raise Failure(RUN, f"the image {image} of context {context} differs from this machine's")


def send_images(root: Path, swarm: Swarm, images: Sequence[str]) -> None:
    """Pushes local images to the registry, and pulls them on each node."""
    references = list(_push_images(root, swarm, images).items())
    together(partial(_pull_images, references), swarm.machines())


def start_registry(root: Path, swarm: Swarm, services: Sequence[str] = ()) -> None:
    """Starts the swarm's registry, unless the user has their own, and then these services."""
    ours: tuple[str, ...] = ()
    if not setting(root, "BENCH_REGISTRY"):
        ours = (REGISTRY,)
        if not (nodes := swarm.machines()):
            raise Failure(RUN, "no node of the swarm has a role: scripts/swarm.sh label NODE ROLE")
        copy_tools(root, nodes)
        _deploy(root, swarm, ours, {})
        together(_start_relay, nodes)
    if services:
        references = _push_images(root, swarm, [f"bench/{name}" for name in services])
        _deploy(root, swarm, (*ours, *services), references)
        _await_stack(swarm)


def copy_tools(root: Path, nodes: Sequence[Node]) -> None:
    """Builds the image for registry, relays and node checks, and copies it to all nodes."""
    project_compose(root, "--profile", "swarm", "build", "--quiet", REGISTRY, timeout=TRANSFER_S)
    together(lambda node: copy_images(node.context, [IMAGE]), nodes)


def remove_registry(swarm: Swarm) -> None:
    """Removes relays and the stack; Failure if parts of it remain.

    Retries, because managers may fail and a stack takes time to end, and leftover networks would block the next one.
    """
    for node in swarm.machines():
        answer("rm", "--force", "--volumes", RELAY, context=node.context, timeout=60)

    def is_gone() -> bool:
        answer("stack", "rm", STACK, context=swarm.manager, timeout=60)
        return _left_of_stack(swarm) == []

    if not in_time(is_gone, 100, 0.3):
        raise Failure(RUN, f"stack {STACK} is not removed yet: {', '.join(_left_of_stack(swarm) or ())}")


def _push_images(root: Path, swarm: Swarm, images: Sequence[str]) -> Mapping[str, str]:
    """Pushes images; returns their references with digests.

    A support node's engine pushes to the swarm's registry; this machine's engine pushes to the user's registry.
    """
    prefix, pusher = setting(root, "BENCH_REGISTRY"), ""
    if not prefix:
        if not (supports := swarm.machines("support")):
            raise Failure(RUN, "no usable node has the role support: see scripts/swarm.sh check")
        prefix, pusher = f"127.0.0.1:{PORT}", supports[0].context
        copy_images(pusher, images)
    references = {}
    for image in images:
        repository = f"{prefix}/{image.partition(':')[0]}"
        tag = f"{repository}:{docker('image', 'inspect', '--format', '{{.Id}}', image).out[7:23]}"
        docker("tag", image, tag, context=pusher)
        with or_failure(RUN, f"the registry does not accept {image}"):
            docker("push", "--quiet", tag, context=pusher, timeout=TRANSFER_S)
        digests = docker("image", "inspect", "--format", "{{json .RepoDigests}}", tag, context=pusher).out
        references[image] = next(one for one in json.loads(digests) if one.startswith(f"{repository}@"))
    return references


def _pull_images(references: Sequence[tuple[str, str]], node: Node) -> None:
    """Pulls pushed images on a node, and tags them with their local names."""
    for image, reference in references:
        if has_image(node.context, image, image):
            continue
        with or_failure(RUN, f"context {node.context} cannot pull {image} as {reference}"):
            docker("pull", "--quiet", reference, context=node.context, timeout=TRANSFER_S)
        need_same(node.context, image, reference)
        docker("tag", reference, image, context=node.context)


def _deploy(root: Path, swarm: Swarm, names: Sequence[str], images: Mapping[str, str]) -> None:
    compose = json.loads(project_compose(root, "--profile", "*", "config", "--format", "json", *names).out)
    made = json.dumps(stack(compose, names, swarm.nodes, images)).encode()
    for name in names:
        if lost := loses(compose["services"][name]):
            warn(f"{name}: a service of a swarm cannot have {', '.join(lost)}")
    words = ("stack", "deploy", "--resolve-image", "never", "--compose-file", "-", STACK)
    with or_failure(RUN, "the swarm does not accept the stack"):
        docker(*words, context=swarm.manager, stdin=made)


def _await_stack(swarm: Swarm) -> None:
    def is_up() -> bool:
        up = docker("stack", "services", "--format", "{{.Replicas}}", STACK, context=swarm.manager).out
        return bool(up.strip()) and "0/1" not in up

    if not in_time(is_up, 300, 0.3):
        how = f"docker --context {swarm.manager} stack ps --no-trunc {STACK}"
        raise Failure(RUN, f"the swarm has not started all of its stack: {how}")


def _start_relay(node: Node) -> None:
    """Starts a node's relay, and waits until the registry answers through it."""
    if answer("inspect", "--format", "{{.State.Running}}", RELAY, context=node.context) != "true":
        answer("rm", "--force", "--volumes", RELAY, context=node.context, timeout=60)
        docker(
            *("run", "--detach", "--name", RELAY, "--network", f"{STACK}_images", "--restart", "unless-stopped"),
            *("--publish", f"127.0.0.1:{PORT}:5000", "--init", *CONFINED, "--memory", "128m"),
            *(IMAGE, "socat", "TCP-LISTEN:5000,fork,reuseaddr", "TCP:registry:5000"),
            context=node.context,
        )
    asks = ("exec", RELAY, "bash", "-c", "</dev/tcp/registry/5000")
    if not in_time(lambda: answer(*asks, context=node.context) is not None, 100, 0.3):
        raise Failure(RUN, f"node {node.name} cannot reach the registry: scripts/swarm.sh check says why")


def _left_of_stack(swarm: Swarm) -> list[str] | None:
    """Remaining services, secrets and networks of the stack; None if the manager does not answer."""
    left: list[str] = []
    for what in ("service", "secret"):
        words = answer(what, "ls", "--filter", OF_STACK, "--format", what + " {{.Name}}", context=swarm.manager)
        if words is None:
            return None
        left += words.splitlines()
    for context in swarm.contexts:
        words = answer("network", "ls", "--filter", OF_STACK, "--format", "network {{.Name}}", context=context)
        left += [f"{line} ({context})" for line in (words or "").splitlines()]
    return left


def stack(
    compose: Mapping[str, Any], names: Sequence[str], nodes: Sequence[SwarmNode], images: Mapping[str, str]
) -> dict[str, Any]:
    """The stack of these services, on nodes with the role `support`.

    `compose`: the output of `docker compose config --format json`. `images`: references with digests, by image name.
    Failure for unknown services, and for unknown settings, so that no setting is lost silently.
    """
    label = support_label(nodes)
    services = {name: _service(name, compose["services"][name], label, images) for name in names}
    used = {secret["source"] for service in services.values() for secret in service.get("secrets", ())}
    return {
        "version": "3.9",
        "services": services,
        "networks": {
            NETWORK: _overlay(compose["networks"][NETWORK]),
            **({IMAGES: {"driver": "overlay", "attachable": True}} if REGISTRY in names else {}),
        },
        "secrets": {name: {"file": compose["secrets"][name]["file"]} for name in sorted(used)},
    }


def loses(service: Mapping[str, Any]) -> list[str]:
    """The settings that a service loses in a stack."""
    return [key for key in IGNORED if key in service]


def overlay_options(compose: Mapping[str, Any]) -> list[str]:
    """The options of `docker network create` for an overlay network like the one in the Compose file."""
    network = _overlay(compose["networks"][NETWORK])
    return [
        f"--driver={network['driver']}",
        "--attachable",
        *(["--internal"] if network["internal"] else []),
        *(f"--label={name}={value}" for name, value in network["labels"].items()),
        *(f"--subnet={config['subnet']}" for config in network["ipam"]["config"]),
    ]


def _overlay(network: Mapping[str, Any]) -> dict[str, Any]:
    """An overlay network like the one in the Compose file; not encrypted."""
    return {
        "driver": "overlay",
        "attachable": True,
        "internal": bool(network.get("internal")),
        "labels": dict(network.get("labels") or {}),
        "ipam": {"config": [{"subnet": config["subnet"]} for config in network["ipam"]["config"]]},
    }


def _service(name: str, service: Mapping[str, Any], label: str, images: Mapping[str, str]) -> dict[str, Any]:
    if strange := sorted(service.keys() - {*KEPT, *MOVED, *LEFT_OUT, *IGNORED}):
        raise Failure(USER, f"service {name}: {', '.join(strange)} cannot be turned into a stack's settings")
    made = {key: service[key] for key in KEPT if service.get(key) is not None}
    made["image"] = images.get(service["image"], service["image"])
    limits = {"memory": str(service["mem_limit"]), "pids": int(service["pids_limit"])}
    return {
        **made,
        "networks": [IMAGES if name == REGISTRY else NETWORK],
        "volumes": [*_folders(service), *(service.get("volumes") or ())],
        "deploy": {
            "replicas": 1,
            "endpoint_mode": "dnsrr",
            "placement": {"constraints": [f"node.labels.{LABEL} == {label}"]},
            "resources": {"limits": limits},
            "restart_policy": {"condition": "any", "delay": "1s"},
        },
    }


def _folders(service: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Folders in memory (tmpfs). A stack makes them world-writable (1777), whatever the Compose file says."""
    places = [str(entry).partition(":")[0] for entry in service.get("tmpfs") or ()]
    folders: list[dict[str, Any]] = [{"type": "tmpfs", "target": place} for place in places]
    if size := service.get("shm_size"):
        folders.append({"type": "tmpfs", "target": "/dev/shm", "tmpfs": {"size": int(size)}})
    return folders
