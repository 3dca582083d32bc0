"""One request, one verdict: the short look at a service before each round, `python3 -m bench check`."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from bench.contract.arguments import Parser
from bench.contract.client import Client, NoAnswer
from bench.contract.routes import ROUTES, Mismatch, check_headers, expected, request_of


def quick_check(url: str, route: str, body: bytes | None = None, timeout: float = 10.0) -> str | None:
    """None when `url` is answered as its route promises, else what is wrong in one line.

    `url` is the whole of it, `http://HOST:PORT/PATH?QUERY`; the numbers expected are read from it. `body` is
    what echo sends (a sample by default), `timeout` is in seconds. ValueError for a URL of another route.
    """
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    request = request_of(route, path, body)
    wanted = expected(route, request)
    try:
        answer = Client(f"{parts.scheme}://{parts.netloc}", timeout).ask(request)
        wanted.check(answer)
        check_headers(answer)
    except (Mismatch, NoAnswer) as problem:
        return str(problem)
    return None


def check(argv: Sequence[str]) -> int:
    """The command line; prints one line. 0: right, 1: wrong, 2: a fault of the command."""
    parser = Parser(prog="check", description=__doc__, allow_abbrev=False)
    parser.add_argument("--url", required=True, help="http://HOST:PORT/PATH, as it will be loaded")
    parser.add_argument("--route", required=True, choices=ROUTES, metavar="ID", help=", ".join(ROUTES))
    parser.add_argument("--body", type=str.encode, help="what echo sends")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="for the answer (10)")
    options = parser.parse_args(argv)
    try:
        problem = quick_check(options.url, options.route, options.body, options.timeout)
    except ValueError as error:
        parser.error(str(error))
    if problem:
        print(f"not ok - {options.route} {options.url}: {problem}")
        return 1
    print(f"ok - {options.route} {options.url}")
    return 0
