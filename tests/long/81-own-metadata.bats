#!/usr/bin/env bats
# What a user's own app says of itself is measured: its lock, its version and entry points, its extensions.
# shellcheck disable=SC2154 # set in own_app.bash

load ../end_to_end/common
load ../end_to_end/own_app

ROUNDS=1
APPS=bad
little=(--tool vegeta --level r20 --duration 1 --server waitress)

# file NAME LINE...: writes a file of these lines in the app's folder.
file() {
	mkdir -p "$(dirname "$BATS_TEST_TMPDIR/bad/$1")"
	printf '%s\n' "${@:2}" >"$BATS_TEST_TMPDIR/bad/$1"
}

# answers WORDS: the app must respond with them.
answers() { printf '{"GET /": {"contains": ["%s"]}}' "$1" >"$BATS_TEST_TMPDIR/expect.json"; }

project=('[project]' 'name = "shop"' 'version = "1.2"' 'dependencies = ["flask"]' '[project.entry-points."shop.plugins"]' 'one = "plugin:name"')

@test "the versions of uv.lock are measured, with the app's own version and its entry points; a lock that does not fit is named" {
	app 'from importlib.metadata import entry_points, version' 'from flask import Flask' 'app = Flask(__name__)' '@app.get("/")' \
		'def index(): return " ".join([version("shop"), version("flask"), *(one.load() for one in entry_points(group="shop.plugins"))])'
	file plugin.py 'name = "plugin"'
	file pyproject.toml "${project[@]}" '[tool.setuptools]' 'py-modules = ["main", "plugin"]'
	file uv.lock 'version = 1' '[[package]]' 'name = "flask"' 'version = "3.0.0"' 'source = { registry = "https://pypi.org/simple" }'
	answers '1.2 3.0.0 plugin'
	run measure "${little[@]}" --expect "$BATS_TEST_TMPDIR/expect.json"
	echo "$output"
	[[ $status == 0 && $output == *"the versions of uv.lock are measured"* && $output != *"not installed"* ]]
	sed -i 's/"flask"\]/"flask>=3.1"]/' "$BATS_TEST_TMPDIR/bad/pyproject.toml"
	refused "cannot be resolved with the versions of uv.lock (without them: --requirements FILE)" measure "${little[@]}"
}

@test "a build completes an app: an extension, a version without the repository, a module elsewhere, a package beside it, an extra" {
	app 'import core, elsewhere, flask, idna, shop.speed, shop.version' 'app = flask.Flask(__name__)' '@app.get("/")' \
		'def index(): return f"{shop.speed.__name__} {shop.version.version} {elsewhere.name} {core.name}"'
	file shop/__init__.py
	file shop/speed.c '#include <Python.h>' 'static struct PyModuleDef it = {PyModuleDef_HEAD_INIT, "speed"};' \
		'PyMODINIT_FUNC PyInit_speed(void) { return PyModule_Create(&it); }'
	file code/__init__.py 'name = "elsewhere"'
	file setup.py 'from setuptools import Extension, setup' \
		'setup(name="shop", packages=["shop", "elsewhere"], package_dir={"elsewhere": "code"}, install_requires=["flask"],' \
		'      ext_modules=[Extension("shop.speed", ["shop/speed.c"])], extras_require={"names": ["idna"]})'
	file pyproject.toml '[build-system]' 'requires = ["setuptools", "setuptools-scm"]' 'build-backend = "setuptools.build_meta"' \
		'[tool.setuptools_scm]' 'version_file = "shop/version.py"'
	file core/pyproject.toml '[project]' 'name = "core"' 'version = "1"'
	file core/core.py 'name = "core"'
	file requirements.txt '-e .[names]' './core'
	answers 'shop.speed 0.0.0 elsewhere core'
	refused "add --apt 'gcc'" measure --interface wsgi "${little[@]}"
	measure --interface wsgi "${little[@]}" --apt gcc --expect "$BATS_TEST_TMPDIR/expect.json"
}

@test "an app that is no package is measured, and the run says why it is none; one that asks for it is refused" {
	app 'from flask import Flask' 'app = Flask(__name__)' '@app.get("/")' 'def index(): return "hello"'
	file pyproject.toml "${project[@]:0:4}"
	file static/__init__.py
	file shop/__init__.py
	run measure "${little[@]}"
	echo "$output"
	[[ $status == 0 && $output == *"bad is on the path, but not installed: its wheel cannot be built: "*"Multiple top-level packages discovered"* ]]
	file requirements.txt .
	refused "a package of the app's folder cannot be built: error: Multiple top-level packages" measure "${little[@]}"
}
