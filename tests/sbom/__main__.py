"""`python3 -m tests.sbom NAME <COLLECTED`: prints the document; on standard error, how many packages it lists."""

from __future__ import annotations

import sys

from cyclonedx.validation.json import JsonStrictValidator

from tests.sbom.image import SCHEMA, document, summary


def main(name: str) -> int:
    """0, or 1 where the document is not what CycloneDX's schema asks for."""
    text = document(sys.stdin.read())
    if fault := JsonStrictValidator(SCHEMA).validate_str(text):
        print(f"{name}: not valid: {fault}", file=sys.stderr)
        return 1
    sys.stdout.write(text)
    print(f"{name}: {summary(text)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
