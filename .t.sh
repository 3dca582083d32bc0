ruff check bench tests; ruff format --check bench tests | tail -1
pytest -q -p no:cacheprovider tests/unit/cli/test_again.py 2>&1 | tail -20
