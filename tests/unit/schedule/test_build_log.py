"""What failed builds and imports lack, from their logs, and which Debian packages are proposed."""

import tomllib
from pathlib import Path

import pytest

from bench.own_app.describe import debian_packages
from bench.schedule.build_log import COMPILERS, PACKAGES, build_cause, build_error, with_advice

LOGS = tomllib.loads(Path(__file__).with_name("build_log.toml").read_text())
UV = LOGS["uv"]


def advice(log: str, *given: str) -> str:
    return with_advice("failed.", log, given)


@pytest.mark.parametrize(("log", "packages"), [*LOGS["missing"], (UV, "libpq-dev gcc")])
def test_the_packages_with_what_is_missing(log: str, packages: str) -> None:
    names = {
        "mysql": "default-libmysqlclient-dev pkg-config",
        "more": "default-libmysqlclient-dev",
        "ldap": "libldap-dev libsasl2-dev",
        "ssl": "libssl-dev pkg-config",
        "pango": "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0",
    }
    assert advice(log) == f"failed: add --apt '{packages.format(**names)}'"
    assert advice("\n".join(f"#9 1.25     {line}" for line in log.splitlines())) == advice(log)


OLDER = "give an older --python if {} has a wheel for that"


@pytest.mark.parametrize(("log", "words"), LOGS["without_wheel"])
def test_a_package_without_a_wheel_may_have_one_for_an_older_python(log: str, words: str) -> None:
    debian, package = words.format("psycopg2").split("|")
    ways = ([f"add --apt '{debian}'"] if debian else []) + ([OLDER.format(package)] if package else [])
    assert advice(log) == ("failed: " + ", or ".join(ways) if ways else "failed.")
    # A package of the app's folder has no wheel for any.
    own = with_advice("failed.", log, [], of_folder=True)
    assert own == (f"failed: {ways[0]}" if debian else "failed.")


def test_what_is_known_to_help_is_said_instead_of_a_guess() -> None:
    for log, words in (("", "mend that"), ("Error: pg_config executable not found.", "add --apt 'libpq-dev gcc'")):
        assert with_advice("failed.", log, [], "mend that") == f"failed: {words}"


def test_all_that_is_missing_is_proposed_at_once_with_what_was_given() -> None:
    log = "Error: pg_config executable not found.\nImportError: failed to find libmagic."
    assert advice(log) == "failed: add --apt 'libpq-dev libmagic1 gcc'"
    assert advice(log, "g++", "libmagic1") == "failed: give --apt 'g++ libmagic1 libpq-dev'"
    # What did not help is not proposed again.
    assert advice(log, "libpq-dev", "gcc", "libmagic1") == "failed."


def test_a_file_that_the_table_lacks_is_named_with_where_to_look() -> None:
    for name, log in (
        ("foo/bar.h", "fatal error: foo/bar.h: No such file or directory"),
        ("libfoo.so.3", "libfoo.so.3: cannot open shared object file: No such"),
    ):
        where = f"find the Debian package with {name} on packages.debian.org, and add it with --apt"
        assert advice(log) == advice(log, "gcc") == f"failed: {where}"


@pytest.mark.parametrize("log", LOGS["others"])
def test_nothing_is_proposed_that_the_log_does_not_ask_for(log: str) -> None:
    assert advice(log) == "failed."


def test_a_package_that_debian_does_not_have_is_named() -> None:
    log = "#8 1.02 E: Unable to locate package libpqq-dev\n#8 ERROR: process did not complete\n"
    assert with_advice(build_cause(log), log, ["libpqq-dev"]) == "Debian has no package 'libpqq-dev': correct --apt"
    assert with_advice(build_cause(log), log, []) == "Debian has no package 'libpqq-dev'"
    other = "#8 1.02 E: Package 'libfoo' has no installation candidate\n"
    assert build_error(other) == "Debian has no package 'libfoo'"
    unreachable = "#8 5.3 E: Failed to fetch http://mirror/InRelease  Temporary failure resolving 'mirror'\n"
    assert build_cause(unreachable).startswith("E: Failed to fetch http://mirror/InRelease")


def test_the_cause_is_told_with_the_package_that_could_not_be_built() -> None:
    cause = "psycopg2: Error: pg_config executable not found"
    assert build_cause(UV) == f"{cause}."
    assert with_advice(f"{cause}.", UV, []) == f"{cause}: add --apt 'libpq-dev gcc'"
    assert not build_cause("#9 0.5   × No solution found when resolving dependencies:\n#9 0.5   ╰─▶ Because a\n")


@pytest.mark.parametrize("cause", LOGS["no_package"])
def test_why_an_app_is_no_package_is_told_in_the_words_of_its_backend(cause: str) -> None:
    log = f"""#1 0.1   × Getting requirements to build wheel did not run successfully.
#1 0.1   ╰─> [14 lines of output]
#1 0.1       {cause}
#1 0.1       To avoid accidental inclusion of unwanted files or directories,
#1 0.1   note: This error originates from a subprocess, and is likely not a problem with pip.
#1 0.1 ERROR: Failed to build 'file:///source' when getting requirements to build wheel
"""
    assert build_cause(log).endswith(cause) and with_advice(cause, log, []) == cause


def test_a_log_is_hostile() -> None:
    log = "#9 1.1 fatal error: \x1b[31mx';reboot;'.h: No such file or directory\n" + "#9 1.2 " + "E" * 1000 + " error\n"
    assert "\x1b" not in build_error(log) and len(build_error(log)) <= 300
    assert advice(log) == "failed."
    # Linear in its length: otherwise, this would take minutes.
    for text in ("lib" * 300_000, "a.b-" * 250_000, "Package '" * 100_000, "No such file or directory: '" * 40_000):
        assert advice(text) == "failed."
        build_error(f"#9 1.1 {text}\n")


def test_the_table_has_names_that_the_option_takes() -> None:
    names = debian_packages(" ".join(PACKAGES))
    assert {"gcc", "g++", "cargo"} <= COMPILERS & {*names}


def test_a_package_that_cannot_say_what_its_build_needs_is_the_one_collected_last() -> None:
    log = """#9 1.0 Collecting greenlet==3.0.1 (from -r /locks/requirements.txt (line 1))
#9 1.2 Collecting psycopg2-binary==2.9.9 (from -r /locks/requirements.txt (line 9))
#9 2.0   error: subprocess-exited-with-error
#9 2.1       Error: pg_config executable not found."""
    assert build_cause(log) == "psycopg2-binary: Error: pg_config executable not found."
    older = "give an older --python if psycopg2-binary has a wheel for that"
    assert advice(log) == f"failed: add --apt 'libpq-dev gcc', or {older}"
