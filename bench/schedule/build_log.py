"""What the log of a failed build or start names as its cause, and which Debian packages (`--apt`) would mend it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bench.core.formats import printable

LONGEST = 300
"""The most characters of a detail taken from a log."""
STEP = re.compile(r"^(?:#\d+ )?\d+\.\d+ +", re.MULTILINE)
"""What BuildKit writes before each line of a step: the step's number, if it does not repeat the line, and its time."""

_WORD = r"(?<![\w.+-])([\w.+-]{1,99})"
SIGNS = tuple(
    (re.compile(sign, re.ASCII), thing)
    for sign, thing in (
        (r"fatal error: '?([\w./+-]{1,99}\.h(?:h|pp)?)'?(?:: No such file| file not found)", r"\1"),
        (r"(?<![\w.+-])(lib[\w.+-]{1,99}): cannot open shared object file", r"\1"),
        (r"cannot load library '([\w.+-]{1,99})'", r"\1"),
        (r"cannot find -l([\w.+-]{1,99})", r"lib\1.so"),
        (r"Package '?([\w.+-]{1,99})'?(?:, required by '[^']{1,99}',)? (?:was )?not found", r"\1.pc"),
        (r"No package '([\w.+-]{1,99})' found|Dependency \"([\w.+-]{1,99})\" not found", r"\1\2.pc"),
        (r"Dependency lookup for ([\w.+-]{1,99}) with method", r"\1.pc"),
        (_WORD + r": (?:command )?not found", r"\1"),
        (_WORD + r" executable not found", r"\1"),
        (r"No such file or directory: '(?:[a-z0-9_]+-linux-gnu-)?([\w.+-]{1,99})'", r"\1"),
        (r"(?:command|execute) '(?:[a-z0-9_]+-linux-gnu-)?([\w.+-]{1,99})'(?: failed)?: No such file", r"\1"),
        (r"linker `(cc)` not found|Unknown compiler\(s\): \[+'(cc|c\+\+)'", r"\1\2"),
        (r"no acceptable C compiler found|No CMAKE_C_COMPILER could be found|you need a C compiler", "cc"),
        (r"No CMAKE_CXX_COMPILER could be found|cannot execute 'cc1plus'|exec 'cc1plus'", "c++"),
        (r"[Cc]an't find Rust compiler|Rust(?: toolchain)? not found|Do you have cargo in your PATH", "cargo"),
        (r"Cargo, the Rust package manager, is not installed|Failed to run rustc|the rust compiler is not", "cargo"),
        (r"Unable to invoke pkg-config|pkg-config is not installed", "pkg-config"),
        (r"Could not find xmlsec1 config", "xmlsec1.pc"),
        (r"Can not find valid pkg-config name", "mysql_config"),
        (r"libxml2 and libxslt development packages are installed", "xslt-config"),
        (r"headers or library files could not be found for (?:jpeg|zlib)", "jpeglib.h"),
        (r"Could not find directory of OpenSSL installation", "openssl.pc"),
        (r"A GDAL API version must be specified", "gdal-config"),
        (r"Could not find the (?:GDAL|GEOS) library", "libgdal.so.1"),
        (r"no pq wrapper available|libpq library not found", "libpq.so.5"),
        (r"failed to find libmagic", "libmagic.so.1"),
        (r"no library called \"cairo-2\"", "libcairo.so.2"),
        (r"MagickWand shared library not found", "libMagickWand.so.1"),
        (r"sndfile library not found", "libsndfile.so.1"),
        (r"Unable to find zbar shared library", "libzbar.so.0"),
    )
)
"""Words of compilers, loaders, installers and packages about something missing, and its name: a header, a library
(libX.so for the linker, libX.so.N for the loader), a module of pkg-config (X.pc) or a program."""

PACKAGES = (
    ("libpq-dev", r"pg_config|libpq-fe\.h|libpq\.(so|pc)|pypi:psycopg(2|-c)"),
    ("libpq5", r"libpq\.so\.5"),
    (
        "default-libmysqlclient-dev pkg-config",
        r"(mysql|mariadb)_config|(mysql/)?mysql\.h|lib(mysqlclient|mariadb)\.(so|pc)|(mysqlclient|mariadb)\.pc|pypi:mysqlclient",
    ),
    ("libmariadb3", r"libmariadb\.so\.3"),
    ("libsqlite3-dev", r"sqlite3\.h|libsqlite3\.so|sqlite3\.pc"),
    ("unixodbc-dev g++", r"sql(ext)?\.h|libodbc\.so|pypi:pyodbc"),
    ("unixodbc", r"libodbc\.so\.\d+"),
    ("libldap-dev libsasl2-dev", r"(lber|ldap|sasl(/sasl)?)\.h|lib(ldap(_r)?|lber|sasl2)\.so|pypi:python-ldap"),
    ("libkrb5-dev", r"krb5-config|gssapi/\S+|krb5\.h|pypi:(gssapi|krb5)"),
    ("libssl-dev pkg-config", r"openssl/\S+|openssl\.pc|lib(ssl|crypto)\.so"),
    ("libcurl4-openssl-dev libssl-dev", r"curl-config|curl/\S+|libcurl\.(so|pc)|pypi:pycurl"),
    ("libffi-dev", r"ffi\.h|libffi\.(so|pc)|pypi:cffi"),
    ("libxml2-dev libxslt1-dev", r"libxml/\S+|libx(ml|sl)t?[\w.-]*\.(so|pc)|libxslt/\S+|x(ml2|slt)-config|pypi:lxml"),
    ("libxmlsec1-dev libxml2-dev pkg-config", r"xmlsec1\.pc|xmlsec/\S+|pypi:xmlsec"),
    ("libyaml-dev", r"yaml\.h|libyaml\.so"),
    ("libjpeg-dev zlib1g-dev", r"jpeglib\.h|libjpeg\.(so|pc)|pypi:pillow"),
    ("zlib1g-dev", r"zlib\.(h|pc)|libz\.so"),
    ("libbz2-dev", r"bzlib\.h|libbz2\.so"),
    ("liblzma-dev", r"lzma\.h|liblzma\.(so|pc)"),
    ("libpcre2-dev", r"pcre2\.h|libpcre2-8\.(so|pc)"),
    ("libmemcached-dev zlib1g-dev", r"libmemcached/\S+|libmemcached\.(so|pc)|pypi:pylibmc"),
    ("librdkafka-dev", r"librdkafka/\S+|librdkafka\.so|rdkafka\.pc|pypi:confluent-kafka"),
    ("libsystemd-dev pkg-config", r"systemd/\S+|libsystemd\.(so|pc)|pypi:systemd-python"),
    ("libmagic-dev", r"magic\.h|libmagic\.so"),
    ("libmagic1", r"libmagic\.so\.1"),
    ("libcairo2-dev pkg-config", r"cairo\.(h|pc)|libcairo\.so|pypi:pycairo"),
    ("libcairo2", r"libcairo\.so\.2"),
    (
        "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0",
        r"(lib)?(pango|pangoft2|gobject|harfbuzz|harfbuzz-subset|fontconfig)(-\d[\d.]*-\d+|-\d|-subset-0|[\w.-]*\.so\.\d+)",
    ),
    ("libgl1 libglib2.0-0", r"libGL\.so\.1"),
    ("libglib2.0-0", r"lib(gthread|glib)-2\.0(-0|\.so\.0)"),
    ("libsm6 libxext6 libxrender1", r"lib(SM\.so\.6|Xext\.so\.6|Xrender\.so\.1)"),
    ("imagemagick", r"libMagickWand\.so\.1"),
    ("libsndfile1", r"libsndfile\.so\.1"),
    ("libzbar0", r"libzbar\.so\.0"),
    ("libgomp1", r"libgomp\.so\.1"),
    ("libgdal-dev g++", r"gdal-config|gdal\.h|libgdal\.so|pypi:(gdal|fiona|rasterio)"),
    ("gdal-bin", r"libgdal\.so\.\d+"),
    ("libgeos-dev", r"geos-config|geos_c\.h|libgeos_c\.so|pypi:shapely"),
    ("libgeos-c1v5", r"libgeos_c\.so\.1"),
    ("libproj-dev proj-bin", r"proj|proj\.h|proj\.pc|libproj\.so|pypi:pyproj"),
    ("gcc", r"gcc|cc|Python\.h"),
    ("g++", r"g\+\+|c\+\+|cc1plus"),
    ("cargo", r"cargo|rustc"),
    ("gcc make", r"make|pypi:(gevent|uvloop)"),
    ("cmake", r"cmake"),
    ("pkg-config", r"pkg-config"),
    ("git", r"git"),
)
"""Debian packages (the names hold from Debian 12 on), and what they have of SIGNS; `pypi:NAME` builds with them."""

COMPILERS = {"gcc", "g++", "cargo", "clang", "build-essential"}
FAILED = re.compile(
    r"(?:Failed to (?:download and )?build|Failed building wheel for) [`'\"]?"
    r"(?!installable wheels|one or more|file:)([A-Za-z0-9][\w.-]{0,99})"
)
"""Words of uv and pip about a package that they could not build."""
COLLECTED = re.compile(r"Collecting ([A-Za-z0-9][\w.-]{0,99})==")
"""What pip prints before it asks a package what its build needs; if that fails, it names none."""
EXITED = "subprocess-exited-with-error"
NO_WHEELS = (
    *("dbus-python", "gssapi", "mysqlclient", "psycopg-c", "psycopg2", "pycairo", "pygobject", "python-ldap"),
    *("systemd-python", "uwsgi"),
)
"""Packages that have no wheel for Linux on any Python."""
NOT_BUILT = re.compile(r"No space left|No matching distribution|Connection (?:refused|reset)|name resolution")
"""Words about a build that failed for a reason that is not the package's."""
UNKNOWN = re.compile(
    r"E: (?:Unable to locate package ([a-z0-9.+-]{1,99})|Package '([a-z0-9.+-]{1,99})' has no installation candidate)"
)
"""Words of apt-get."""
FILE = re.compile(r"\.(h|hh|hpp|pc)$|\.so(\.|$)")
"""Of what is missing, files that Debian's index knows; programs may be anything."""

TOLD_CAUSE = re.compile(
    r"executable not found|command not found|fatal error: \S+: No such file|command '\S+' failed: No such file"
    r"|No matching distribution found|requires a different Python|ResolutionImpossible"
    r"|^(?:ModuleNotFound|Import|Syntax)Error: |No space left|^E: [A-Z]"
    r"|Multiple top-level \w+ discovered|package directory '\S+' does not exist|Unable to determine which files to ship"
    r"|No file/folder found for|Expected a Python module|non-package mode|does not appear to be a Python project"
)
"""Lines of pip, apt-get, compilers and build backends with a cause, besides SIGNS; pip's last ones only say that it
failed."""
SUMMARY = re.compile(r"This error originates|exited-with-error|did not run successfully|did not complete successfully")
"""Lines with an error that are no cause."""


def build_error(log: str) -> str:
    """The first log line of the build step that failed that names a cause, else its last one, else the last error.

    BuildKit repeats the end of the log of that step at the end, each line after its time; before, all lines have the
    step's number.
    """
    repeated = re.findall(r"^\d+\.\d+ +(.*\S)[ \t]*$", log, re.MULTILINE)
    own = [line for line in repeated if not SUMMARY.search(line)]
    errors = [line for line in log.splitlines() if "error" in line.lower() and not line.startswith("--")]
    found = [*(own or repeated)[::-1], *errors[::-1]]
    return build_cause(log) or (printable(found[0])[:LONGEST] if found else "")


def build_cause(log: str) -> str:
    """The first log line of a build that names a cause, after the package that it is about; empty if none does."""
    repeated = re.findall(r"^\d+\.\d+ +(.*\S)[ \t]*$", log, re.MULTILINE)
    every = re.findall(r"^#\d+ \d+\.\d+ +(.*\S)[ \t]*$", log, re.MULTILINE)
    lines = (line.strip(" \t│╰─>×") for line in (*repeated, *every))
    cause = next((line for line in lines if TOLD_CAUSE.search(line) or any(_missing(line))), "")
    if unknown := UNKNOWN.search(cause):
        return f"Debian has no package '{unknown[1] or unknown[2]}'"
    failed = _failed(log)
    what = f"{failed[0]}: " if cause and failed and failed[0] not in cause else ""
    return f"{what}{printable(cause)}"[:LONGEST]


def with_advice(words: str, log: str, given: Sequence[str], otherwise: str = "", *, of_folder: bool = False) -> str:
    """`words`, then what to give, as far as the log of a build or a start says what is missing.

    `given`: the Debian packages that were installed; `otherwise`: what to do if the log does not tell. `of_folder`:
    whether packages of the app's folder were built, which have no wheel anywhere.
    """
    unknown = {name for found in UNKNOWN.findall(log) for name in found if name}
    text = STEP.sub("", log)
    ways = [_debian(text, given), "" if of_folder else _other_python(text)]
    advice = "correct --apt" if unknown & {*given} else ", or ".join(filter(None, ways)) or otherwise
    return f"{words.rstrip('. ')}: {advice}" if advice else words


def _failed(log: str) -> list[str]:
    """The packages that could not be built."""
    before, exited, _ = log.partition(EXITED)
    return FAILED.findall(log) or (COLLECTED.findall(before)[-1:] if exited else [])


def _other_python(text: str) -> str:
    """That an older Python may need no build of a package: its version may be from before this Python."""
    names = [name for name in _failed(text) if name.lower().replace("_", "-") not in NO_WHEELS]
    return f"give an older --python if {names[0]} has a wheel for that" if names and not NOT_BUILT.search(text) else ""


def _debian(text: str, given: Sequence[str]) -> str:
    missing = [*dict.fromkeys(_missing(text))]
    failed = [f"pypi:{name.lower().replace('_', '-')}" for name in _failed(text)] if missing else []
    wanted = dict.fromkeys(given)
    for thing in (*missing, *failed):
        wanted |= dict.fromkeys(_packages_with(thing))
    if not COMPILERS & wanted.keys() and any(name.endswith("-dev") for name in wanted.keys() - {*given}):
        wanted["gcc"] = None
    if len(wanted) > len(given):
        return f"{'give' if given else 'add'} --apt '{' '.join(wanted)}'"
    others = [thing for thing in missing if not _packages_with(thing)]
    return f"find the Debian package with {others[0]} on packages.debian.org, and add it with --apt" if others else ""


def _missing(text: str) -> Iterator[str]:
    """What SIGNS say is missing, in their order in the text: files, and programs that PACKAGES have."""
    found = ((match.start(), match.expand(thing)) for sign, thing in SIGNS for match in sign.finditer(text))
    for _, thing in sorted(found):
        if FILE.search(thing) or _packages_with(thing):
            yield thing


def _packages_with(thing: str) -> list[str]:
    return next((names.split() for names, things in PACKAGES if re.fullmatch(things, thing)), [])
