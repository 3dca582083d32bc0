"""Runs the verifier on one service."""

from __future__ import annotations

from driver.engines.protocol import Engine
from driver.failure import say
from driver.run import Run
from driver.services.ready import leave_out, save_end

ONLY_LATE = 3
"""The verifier's exit status if all failures were late answers."""
FOUND = ("verify.json", "verify.txt", "stop.json", "failure.json")
"""Files with the result of a verification."""


def check_contract(engine: Engine, service: str, crowd: bool) -> None:
    """Verifies a service. The verifier writes failure.json; without that file it was interrupted.

    `crowd`: other services are verified at the same time.
    """
    run, facts = engine.run, engine.run.services[service]
    folder, here = run.service_folder(service), f"raw/services/{service}"
    claim = "--concurrent" if facts.concurrent else "--sequential"
    words = [
        *("python3", "-m", "bench", "verify", "--service", service, "--base-url", f"http://{service}:8080", claim),
        *("--routes", ",".join(facts.routes), "--framework", facts.framework, "--database-host", "postgres"),
        *("--database-password-file", "/run/secrets/database_password"),
        *("--upstream-control", "http://upstream:8081", "--json", f"results/{run.name}/{here}/verify.json"),
        *("--failure", f"results/{run.name}/{here}/failure.json"),
    ]
    done = engine.in_loadgen(words, log=folder / "verify.txt", folder=here)
    if done.status == 0:
        say(f"{service}: verified ({done.last_line})")
    elif crowd and (done.status == ONLY_LATE or not run.failed(service)):
        set_aside(run, service)
    else:
        save_end(engine, service)
        leave_out(engine, service, "verification", str(done.status))


def set_aside(run: Run, service: str) -> None:
    """Moves the results away, as they may be the machine's fault: the service is verified once more, alone."""
    say(f"{service}: too late, or cut; once more, alone, when the others are done")
    folder = run.service_folder(service)
    (folder / "beside").mkdir(parents=True, exist_ok=True)
    for name in FOUND:
        if (folder / name).exists():
            (folder / name).replace(folder / "beside" / name)


def is_set_aside(run: Run, service: str) -> bool:
    """Whether `set_aside` was called for it."""
    return (run.service_folder(service) / "beside").exists()
