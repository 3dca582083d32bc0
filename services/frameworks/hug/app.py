"""The contract as a hug API.

Forms, from hug's documentation (hugapi/hug, documentation/):
JSON        "Output formats" (default_output_format)
templates   none of its own: Jinja2
database    examples/sqlalchemy_example (a session for each request)
lifespan    examples/on_startup.py, which is not needed: common/sync_backends.py connects with the first request
"""

import time

import falcon
import hug
from common import contract, jinja
from common.sync_backends import Store, UpstreamError, backends

api = hug.API(__name__)

# hug calls annotations to convert arguments, and to copy results.
Count = contract.clamp_count
Duration = contract.clamp_duration


@hug.default_output_format("application/json; charset=utf-8")
def json_format(content, request=None, response=None):
    # hug's own function creates an encoder on each call, and fails on a lone surrogate.
    return contract.to_json(content).encode()


@hug.get("/plaintext", output=hug.output_format.text)
def plaintext():
    return contract.GREETING


@hug.get("/json")
@hug.get("/simple_json")
def greeting():
    return {"message": contract.GREETING}


@hug.get("/json_20kb")
def page():
    return contract.PAGE


@hug.get("/http-route-example", output=hug.output_format.text)
def route_example():
    return contract.ROUTE_RESPONSE


@hug.get("/")
def root(duration: Duration = 0):  # type: ignore[valid-type]
    if duration:
        time.sleep(duration / 1000)
    return {"duration": duration}


@hug.get("/simple_request/{milliseconds}")
def simple_request(milliseconds: Duration):  # type: ignore[valid-type]
    return backends.upstream.delay(milliseconds)


@hug.get("/create_data/{count}")
def create_data(count: Count):  # type: ignore[valid-type]
    backends.raw.create_data(count)
    return {"created": count}


@hug.post("/echo", parse_body=False)
def echo(request, response):
    # A chunked request has no length, and the end of its body is known only if the server marks it.
    stream = request.stream if request.env.get("wsgi.input_terminated") else request.bounded_stream
    try:
        return contract.echo(stream.read(contract.ECHO_LIMIT + 1))
    except ValueError as refusal:
        response.status = falcon.HTTP_400
        return {"error": str(refusal)}


def database_routes(kind: str) -> None:
    """Add the database routes of one store: `raw` or `orm`."""
    store: Store = getattr(backends, kind)

    @hug.get(f"/{kind}/db")
    def db():
        return store.worlds(1)[0]

    @hug.get(f"/{kind}/queries/{{count}}")
    def queries(count: Count):  # type: ignore[valid-type]
        return store.worlds(count)

    @hug.get(f"/{kind}/updates/{{count}}")
    def updates(count: Count):  # type: ignore[valid-type]
        return store.update_worlds(count)

    @hug.get(f"/{kind}/fortunes", output=hug.output_format.html)
    def fortunes():
        return jinja.fortunes_page(store.fortunes())


database_routes("raw")
database_routes("orm")


@hug.exception(UpstreamError)
def bad_gateway(exception, response):
    response.status = falcon.HTTP_502
    return {"error": str(exception)}


# Without this handler hug responds with the documentation of the whole API.
@hug.not_found()
def no_such_path():
    return {"error": "there is no such path"}


app = api.http.server()
# The last segment may be empty; hug would strip the slash before it.
app.req_options.strip_url_path_trailing_slash = False
