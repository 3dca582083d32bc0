ruff check bench tests
mypy --strict --cache-dir=/tmp/mypy 2>&1 | tail -15
pytest -q -p no:cacheprovider -n 2 tests/unit/plan tests/unit/analysis tests/unit/cli tests/unit/matrix tests/unit/own_app tests/unit/cost tests/unit/run tests/unit/test_imports.py tests/unit/test_docs.py tests/unit/test_readme_commands.py 2>&1 | tail -60
