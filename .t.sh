ruff check bench tests; ruff format --check bench tests | tail -1
shfmt -d scripts tests/lib tests/shell tests/end_to_end; shellcheck -x scripts/harness-cost.sh tests/lib/long_run.sh scripts/matrix.sh scripts/clean.sh tests/shell/clean.bats tests/shell/again.bats tests/end_to_end/90-own-app.bats;  python3 tests/support/masked_failures.py scripts/*.sh scripts/lib/*.sh tests/lib/*.sh
hadolint services/alpine.Dockerfile services/debian.Dockerfile
pytest -q -p no:cacheprovider tests/unit/cli/test_again.py tests/unit/test_docs.py tests/unit/test_readme_commands.py tests/unit/cost 2>&1 | tail -20
bats tests/shell/clean.bats tests/shell/again.bats | grep -v ^ok
