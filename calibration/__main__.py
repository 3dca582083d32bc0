"""`python3 -m calibration`; see command.py."""

import sys

from bench.core.errors import UserError
from calibration.command import judge_verb

try:
    sys.exit(judge_verb(sys.argv[1:]))
except UserError as error:
    print(f"calibration: {error}", file=sys.stderr)
    sys.exit(2)
