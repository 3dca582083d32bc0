"""The contract's basic routes as a hug API."""

import time

import hug
from common import contract

api = hug.API(__name__)


@hug.get("/plaintext", output=hug.output_format.text)
def plaintext() -> str:
    return contract.GREETING


@hug.get("/json")
@hug.get("/simple_json")
def greeting() -> dict[str, str]:
    return {"message": contract.GREETING}


@hug.get("/http-route-example", output=hug.output_format.text)
def route_example() -> str:
    return contract.ROUTE_RESPONSE


# An annotation is what hug reads an argument with.
@hug.get("/")
def root(duration: contract.clamp_duration = 0) -> dict[str, int]:  # type: ignore[valid-type]
    if duration:
        time.sleep(duration / 1000)
    return {"duration": duration}


# Without a handler of its own hug answers with the documentation of the whole API.
@hug.not_found()
def no_such_path() -> dict[str, str]:
    return {"error": "there is no such path"}


app = api.http.server()
