"""What each field of a record means, and its unit: for the schema, the exports and their documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Field:
    """One field in words; `unit` is empty where it has none."""

    text: str
    unit: str = ""


FIELDS: Mapping[str, Field] = MappingProxyType(
    {
        "id": Field("the measurement in its run"),
        "round": Field("the round, from 1"),
        "position": Field("place in the round's random order, from 1"),
        "service": Field("the Compose service under load"),
        "server": Field("its server"),
        "framework": Field("its framework"),
        "python": Field("its Python, as 3.13"),
        "base": Field("its base image: debian or alpine"),
        "package": Field("a package at another version, as NAME==VERSION"),
        "scenario": Field("what was asked of it"),
        "tool": Field("the load tool"),
        "level": Field("how hard it was loaded"),
        "connections": Field("connections of a closed loop"),
        "rate": Field("requests that were asked for", "1/s"),
        "count": Field("requests that were asked for in all, where the level says how many"),
        "asked_s": Field("load that was asked for, where the level says no number of requests", "s"),
        "harness": Field("version and content of the project that measured"),
        "settings_sha256": Field("sha256 of run.json"),
        "tool_version": Field("the tool's version"),
        "command": Field("the tool's command line"),
        "stdin": Field("what the command read from standard input"),
        "exit_status": Field("the command's exit status"),
        "image_id": Field("the service's image"),
        "base_label": Field("how the base image was made, or what it calls itself"),
        "python_build": Field("the interpreter in its own words, and its JIT"),
        "packages_file": Field("file of the run with the packages inside the image"),
        "packages_sha256": Field("sha256 of that file"),
        "raw_file": Field("file of the run with the tool's output"),
        "raw_sha256": Field("sha256 of that file"),
        "server_limits": Field("limits and sysctls inside the service, as read back"),
        "loadgen_limits": Field("limits and sysctls inside the load generator, as read back"),
        "outcome": Field("measured, or what stood in the way"),
        "valid": Field("whether the validity gate let it pass: what it did not is never to be ranked"),
        "causes": Field("why it is not valid"),
        "requests": Field("requests that got an answer"),
        "attempts": Field("requests that were begun"),
        "successes": Field("requests that got the expected answer"),
        "errors": Field("what went wrong, by kind; status has the answers by HTTP status (vegeta: 0 is no answer)"),
        "duration_s": Field("length of the load as the tool tells it", "s"),
        "goodput": Field("successes by time: the figure that is ranked", "1/s"),
        "sent_rate": Field("requests that were sent by time", "1/s"),
        "latency_kind": Field("open loop, or closed loop, whose percentiles hide a stall"),
        "latency_s": Field("latency of this one window: percentiles of several are not to be averaged", "s"),
        "server_cpu_s": Field("CPU time of the service in the window", "s"),
        "loadgen_cpu_s": Field("CPU time of the load generator in the window", "s"),
        "cpu_per_success_s": Field("CPU time of service and database for one success", "s"),
        "memory_peak_bytes": Field("most memory that the service has held", "bytes"),
        "throttled_s": Field("time in which the kernel held the service back", "s"),
        "steal_ratio": Field("CPU time of the host that the hypervisor took"),
        "database_cpu_s": Field("CPU time of the database in the window", "s"),
        "memory_idle_bytes": Field("memory of the service when it was ready and idle", "bytes"),
        "start_s": Field("container's start to first good answer: an upper bound", "s"),
        "image_bytes": Field("size of the image", "bytes"),
        "goodput_per_core": Field("goodput over the cores that were really used", "1/s"),
        "loadgen_busy_ratio": Field("share of its CPUs that the load generator used"),
        "loadgen_wait_ratio": Field("share of the window that the tool's threads waited for a CPU that others had"),
        "foreign_ratio": Field("share of the host's CPUs that other programs used"),
        "lag_s": Field("how late an open loop's requests left", "s"),
        "knee_rate": Field("the rate at which the asked p99 holds", "1/s"),
        "nulls": Field("why a figure is null, by its name"),
        "mode": Field("solo, duet (one side of a pair) or null (the null server, a control)"),
        "pair": Field("the pair of a duet"),
        "side": Field("its side: a or b, which is compared with a"),
        "slot": Field("whether the side was started first (1) or second (2)"),
        "window": Field("the window of the round: 1 or 2"),
    }
)
"""Every field of `bench.record.Record`, in its order."""
