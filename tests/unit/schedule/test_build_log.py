"""What failed builds and imports lack, from their logs, and which Debian packages are proposed."""

import pytest

from bench.own_app.describe import debian_packages
from bench.schedule.build_log import COMPILERS, PACKAGES, build_cause, build_error, with_advice

UV = """#12 [resolved 4/4] RUN uv pip compile
#12 3.021   × Failed to build `psycopg2==2.9.10`
#12 3.021   ├─▶ The build backend returned an error
#12 3.021   ╰─▶ Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit
#12 3.021       status: 1)
#12 3.021
#12 3.021       [stderr]
#12 3.021       Error: pg_config executable not found.
#12 3.021
#12 3.021       pg_config is required to build psycopg2 from source.  Please add the directory
#12 3.021       containing pg_config to the $PATH or specify the full executable path with the
#12 3.021       If you prefer to avoid building psycopg2 from source, please install the PyPI
#12 3.021       'psycopg2-binary' package instead.
#12 3.021
#12 3.021       hint: This usually indicates a problem with the package or the build environment.
#12 ERROR: process "/bin/sh -c uv pip compile" did not complete successfully: exit code: 1
"""


def advice(log: str, *given: str) -> str:
    return with_advice("failed.", log, given)


MISSING = [
    ("Error: pg_config executable not found.", "libpq-dev gcc"),
    (UV, "libpq-dev gcc"),
    ("error: [Errno 2] No such file or directory: 'x86_64-linux-gnu-gcc'", "gcc"),
    # mysqlclient 2.1 and 2.2
    ("/bin/sh: 1: mysql_config: not found\n/bin/sh: 1: mariadb_config: not found", "{mysql} gcc"),
    (
        "/bin/sh: 1: pkg-config: not found\n  Exception: Can not find valid pkg-config name.",
        "pkg-config {more} gcc",
    ),
    (
        "Command 'pkg-config --exists mariadb' returned 1\nException: Can not find valid pkg-config name.",
        "{mysql} gcc",
    ),
    ("error: command 'gcc' failed: No such file or directory", "gcc"),
    ("unable to execute 'gcc': No such file or directory\nerror: command 'gcc' failed with exit status 1", "gcc"),
    ("error: command 'x86_64-linux-gnu-gcc' failed: No such file or directory", "gcc"),
    ("error: command 'aarch64-linux-gnu-g++' failed: No such file or directory", "g++"),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'gcc'", "gcc"),
    ("../meson.build:1:0: ERROR: Unknown compiler(s): [['cc'], ['gcc'], ['clang']]", "gcc"),
    ("../meson.build:1:0: ERROR: Unknown compiler(s): [['c++'], ['g++'], ['clang++']]", "g++"),
    ("gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory", "g++"),
    ("configure: error: no acceptable C compiler found in $PATH", "gcc"),
    ("Exception: you need a C compiler to build uWSGI\nERROR: Failed building wheel for uwsgi", "gcc"),
    ("error: linker `cc` not found", "gcc"),
    # What else a package needs is known from its name: one run less to find out.
    (
        "error: command 'gcc' failed: No such file or directory\nERROR: Failed building wheel for python-ldap",
        "gcc {ldap}",
    ),
    ("Modules/common.h:15:10: fatal error: lber.h: No such file or directory\n", "{ldap} gcc"),
    ("Modules/constants.h:7:18: fatal error: sasl/sasl.h: No such file or directory", "{ldap} gcc"),
    ("c/_cffi_backend.c:15:10: fatal error: ffi.h: No such file or directory", "libffi-dev gcc"),
    ("fatal error: libxml/xmlversion.h: No such file or directory", "libxml2-dev libxslt1-dev gcc"),
    (
        "Error: Please make sure the libxml2 and libxslt development packages are installed.",
        "libxml2-dev libxslt1-dev gcc",
    ),
    (
        "The headers or library files could not be found for jpeg,\na required dependency",
        "libjpeg-dev zlib1g-dev gcc",
    ),
    (
        "build/temp/_openssl.c:575:10: fatal error: openssl/opensslv.h: No such file or\n      directory",
        "{ssl} gcc",
    ),
    ("Could not find directory of OpenSSL installation, and this `-sys` crate cannot proceed", "{ssl} gcc"),
    ("  error: can't find Rust compiler", "cargo"),
    ("Cargo, the Rust package manager, is not installed or is not on PATH.", "cargo"),
    ("  Caused by: Cargo metadata failed. Do you have cargo in your PATH?", "cargo"),
    ("A GDAL API version must be specified. Provide a path to gdal-config", "libgdal-dev g++"),
    ("gdal_config_error: [Errno 2] No such file or directory: 'gdal-config'", "libgdal-dev g++"),
    ("fatal error: sqlite3.h: No such file or directory", "libsqlite3-dev gcc"),
    ("fatal error: pcre2.h: No such file or directory", "libpcre2-dev gcc"),
    ("Package 'cairo', required by 'virtual:world', not found", "libcairo2-dev pkg-config gcc"),
    ('../meson.build:31:12: ERROR: Dependency "cairo" not found, tried pkgconfig', "libcairo2-dev pkg-config gcc"),
    ("Package libffi was not found in the pkg-config search path.", "libffi-dev gcc"),
    ("/usr/bin/ld: cannot find -lpq: No such file or directory", "libpq-dev gcc"),
    # At the import of an app.
    ("ImportError: failed to find libmagic.  Check your installation", "libmagic1"),
    (
        "OSError: cannot load library 'libgobject-2.0-0': libgobject-2.0-0: cannot open shared object file",
        "{pango}",
    ),
    ("OSError: cannot load library 'gobject-2.0-0': gobject-2.0-0: cannot open shared object file", "{pango}"),
    ("OSError: cannot load library 'libpango-1.0-0': libpango-1.0-0: cannot open shared object file", "{pango}"),
    ("OSError: cannot load library 'libpangoft2-1.0-0': error", "{pango}"),
    ('OSError: no library called "cairo-2" was found', "libcairo2"),
    ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", "libgl1 libglib2.0-0"),
    ("ImportError: libgthread-2.0.so.0: cannot open shared object file: No such file", "libglib2.0-0"),
    ("ImportError: libpq.so.5: cannot open shared object file: No such file or directory", "libpq5"),
    ("ImportError: no pq wrapper available.\nAttempts made:\n- couldn't import psycopg 'c'", "libpq5"),
    ("ImportError: MagickWand shared library not found.", "imagemagick"),
    (
        'ImproperlyConfigured: Could not find the GDAL library (tried "gdal", "GDAL"). Is GDAL installed?',
        "gdal-bin",
    ),
    ("OSError: libgeos_c.so.1: cannot open shared object file: No such file or directory", "libgeos-c1v5"),
]


@pytest.mark.parametrize(("log", "packages"), MISSING)
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


WITHOUT_WHEEL = [
    ("error: no acceptable C compiler found\nERROR: Failed building wheel for uvloop", "gcc make|uvloop"),
    # As an app with pins of another year has them, one after the other.
    ("Error: pg_config executable not found.\nFailed to build `psycopg2-binary==2.9.9`", "libpq-dev gcc|{}-binary"),
    ("error: command 'g++' failed: No such file or directory\nFailed to build 'greenlet' when", "g++|greenlet"),
    ("error: command '/usr/bin/g++' failed with exit code 1\nFailed building wheel for greenlet", "|greenlet"),
    (
        "error: command '/usr/bin/g++' failed with exit code 1\nFailed building wheel for multidict\n"
        "ERROR: Failed to build installable wheels for some pyproject.toml based projects (multidict)",
        "|multidict",
    ),
    ("Failed to download and build `numpy==1.24`\nModuleNotFoundError: No module named 'distutils'", "|numpy"),
    # None of these is due to the Python, or to be had for another one.
    ("ERROR: Failed building wheel for mysqlclient", "|"),
    ("OSError: [Errno 28] No space left on device\nERROR: Failed building wheel for greenlet", "|"),
    ("ERROR: No matching distribution found for setuptools\nFailed to build 'numpy' when installing", "|"),
    ("ERROR: Failed to build one or more wheels", "|"),
    ("ERROR: Failed to build 'file:///source' when getting requirements to build wheel", "|"),
]


@pytest.mark.parametrize(("log", "words"), WITHOUT_WHEEL)
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


OTHER_LOGS = [
    "",
    "ModuleNotFoundError: No module named 'flask_login'",
    # Nothing of these is the cause, or it is no Debian package.
    "error: command '/usr/bin/gcc' failed with exit code 1\nERROR: Failed building wheel for python-ldap",
    "Failed to build `psycopg2==2.9.10`\nModuleNotFoundError: No module named 'pkg_resources'",
    "checking for pg_config... no",
    "FileNotFoundError: [Errno 2] No such file or directory: 'settings.toml'",
    "package init file 'src/xmlsec/__init__.py' not found (or not a regular file)",
    "/bin/sh: 1: my-tool: not found",
    "× No solution found when resolving dependencies:",
]


@pytest.mark.parametrize("log", OTHER_LOGS)
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


NO_PACKAGE = [
    "error: Multiple top-level packages discovered in a flat-layout: ['static', 'shop'].",
    "error: package directory 'lib' does not exist",
    "ValueError: Unable to determine which files to ship inside the wheel using the following heuristics: ...",
    "ValueError: No file/folder found for package shop",
    "RuntimeError: Building a package is not possible in non-package mode.",
    "Expected a Python module at: `src/shop/__init__.py`",
]


@pytest.mark.parametrize("cause", NO_PACKAGE)
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
