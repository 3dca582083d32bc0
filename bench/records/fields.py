"""Descriptions and units of the fields of a record, for the schema, the exports and their documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Field:
    """The description of a field; `unit` is empty if it has none."""

    text: str
    unit: str = ""


FIELDS: Mapping[str, Field] = MappingProxyType(
    {
        "id": Field("ID of the measurement within its run"),
        "round": Field("round, from 1"),
        "position": Field("position in the random order of the round, from 1"),
        "service": Field("Compose service under load"),
        "server": Field("server"),
        "framework": Field("framework"),
        "python": Field("Python version, such as 3.13"),
        "base": Field("base image: debian or alpine"),
        "package": Field("package that is replaced by another version, as NAME==VERSION"),
        "scenario": Field("request that was sent"),
        "tool": Field("load tool"),
        "level": Field("load level, such as c64 (connections) or r500 (requests/s)"),
        "connections": Field("connections of a closed loop"),
        "rate": Field("target request rate", "1/s"),
        "count": Field("target number of requests, if the level sets one"),
        "asked_s": Field("target duration of the load, if the level sets no number of requests", "s"),
        "harness": Field("version and content hash of the harness"),
        "settings_sha256": Field("SHA-256 of run.json"),
        "tool_version": Field("version of the load tool"),
        "command": Field("command line of the load tool"),
        "stdin": Field("standard input of the command"),
        "exit_status": Field("exit status of the command"),
        "image_id": Field("ID of the service's image"),
        "base_label": Field("how the base image was built, or its PRETTY_NAME"),
        "python_build": Field("version and build of the interpreter, and its JIT"),
        "packages_file": Field("file of the run that lists the packages in the image"),
        "packages_sha256": Field("SHA-256 of that file"),
        "raw_file": Field("file of the run with the load tool's output"),
        "raw_sha256": Field("SHA-256 of that file"),
        "server_limits": Field("limits and sysctls in the service's container, as read back"),
        "loadgen_limits": Field("limits and sysctls in the load generator's container, as read back"),
        "outcome": Field("measured, or what prevented the measurement"),
        "valid": Field("whether it passed the validity checks; invalid measurements must not be ranked"),
        "causes": Field("why it is invalid"),
        "requests": Field("requests that got a response"),
        "attempts": Field("requests that were started"),
        "successes": Field("requests that got the expected response"),
        "errors": Field("errors by kind; `status` counts responses by HTTP status (vegeta: 0 is no response)"),
        "duration_s": Field("duration of the load, as the tool reports it", "s"),
        "goodput": Field("successes per second", "1/s"),
        "sent_rate": Field("requests started per second", "1/s"),
        "latency_kind": Field("open loop, or closed loop (whose percentiles hide stalls)"),
        "latency_s": Field("latency in this window; do not average percentiles of several windows", "s"),
        "server_cpu_s": Field("CPU time of the service in the window", "s"),
        "loadgen_cpu_s": Field("CPU time of the load generator in the window", "s"),
        "cpu_per_success_s": Field("CPU time of service and database per success", "s"),
        "memory_peak_bytes": Field("peak memory of the service", "bytes"),
        "throttled_s": Field("time for which the kernel throttled the service", "s"),
        "steal_ratio": Field("share of the host's CPU time that the hypervisor took"),
        "database_cpu_s": Field("CPU time of the database in the window", "s"),
        "memory_idle_bytes": Field("memory of the service when ready and idle", "bytes"),
        "start_s": Field("time from container start to the first good response: an upper bound", "s"),
        "image_bytes": Field("size of the image", "bytes"),
        "goodput_per_core": Field("goodput per CPU core that service and database actually used", "1/s"),
        "loadgen_busy_ratio": Field("share of its CPUs that the load generator used"),
        "loadgen_wait_ratio": Field("share of the window that the tool's threads waited for a CPU that others used"),
        "foreign_ratio": Field("share of the host's CPU time that other programs used"),
        "lag_s": Field("how late an open loop's requests were sent", "s"),
        "knee_rate": Field("highest rate at which p99 stays within the level's limit", "1/s"),
        "nulls": Field("why a figure is null, by field"),
        "mode": Field(
            "solo, null (the null server, a control), turns (one service of a table) or rate (alone, at a common rate)"
        ),
        "slot": Field("in turns: the service's place in their order, from 1"),
        "window": Field("in turns: window of the block, from 1"),
        "block": Field("in turns: which of the round's blocks of services it was in, from 1"),
        "settings": Field("settings from --vary, and REF=NAME in a run of two refs: NAME=VALUE, separated by spaces"),
        "process_cpu_s": Field(
            "CPU time of each process of the service, largest first; in turns over all windows of its block", "s"
        ),
        "node": Field("in a run on several machines, the node where the service was"),
        "speed": Field("in turns: successes per second, without time that other programs took; ranks a table", "1/s"),
        "server_busy_ratio": Field("in turns: share of the CPU time left by other programs that the service used"),
        "window_end": Field("in turns: frozen or interrupted, how the load tool was ended; null in older runs"),
        "client_limit": Field("rate at which the load generator ended the search: the server's knee is higher", "1/s"),
    }
)
"""All fields of `bench.records.record.Record`, in the same order."""
