"""The contract's views.

Forms, from docs.djangoproject.com:
JSON        "Request and response objects" (JsonResponse)
templates   "Django shortcut functions" (render), "Templates"
database    "Databases" (Connection management), "Database access optimization"
lifespan    none in WSGI: a connection opens with the first query
streams     "Request and response objects" (StreamingHttpResponse)
"""

import time
from typing import Any

from common import contract
from common.sync_backends import Store, UpstreamError, backends
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST, require_safe


def json_response(value: Any, status: int = 200) -> HttpResponse:
    """Like JsonResponse, but with one encoder for all requests: json.dumps() creates a new one on each call."""
    return HttpResponse(contract.to_json(value), content_type="application/json", status=status)


def text_response(text: str) -> HttpResponse:
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_safe
def plaintext(request: HttpRequest) -> HttpResponse:
    return text_response(contract.GREETING)


@require_safe
def greeting(request: HttpRequest) -> HttpResponse:
    return json_response({"message": contract.GREETING})


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return json_response(contract.PAGE)


@require_safe
def route_example(request: HttpRequest) -> HttpResponse:
    return text_response(contract.ROUTE_RESPONSE)


@require_safe
def root(request: HttpRequest) -> HttpResponse:
    duration = contract.clamp_duration(request.GET.get("duration"))
    if duration:
        time.sleep(duration / 1000)
    return json_response({"duration": duration})


@require_safe
def simple_request(request: HttpRequest, number: str) -> HttpResponse:
    try:
        return json_response(backends.upstream.delay(contract.clamp_duration(number)))
    except UpstreamError as failure:
        return json_response({"error": str(failure)}, 502)


@require_safe
def create_data(request: HttpRequest, number: str) -> HttpResponse:
    count = contract.clamp_count(number)
    backends.raw.create_data(count)
    return json_response({"created": count})


@require_safe
def db(request: HttpRequest, store: Store) -> HttpResponse:
    return json_response(store.worlds(1)[0])


@require_safe
def queries(request: HttpRequest, store: Store, number: str) -> HttpResponse:
    return json_response(store.worlds(contract.clamp_count(number)))


@require_safe
def updates(request: HttpRequest, store: Store, number: str) -> HttpResponse:
    return json_response(store.update_worlds(contract.clamp_count(number)))


@require_safe
def fortunes(request: HttpRequest, store: Store) -> HttpResponse:
    return render(request, "fortunes.html", {"fortunes": contract.all_fortunes(store.fortunes())})


@require_POST
def echo(request: HttpRequest) -> HttpResponse:
    try:
        return json_response(contract.echo(request.body))
    except ValueError as refusal:
        return json_response({"error": str(refusal)}, 400)


@require_GET
def sse(request: HttpRequest, count: str, gap: str) -> StreamingHttpResponse:
    numbers = contract.paced(contract.clamp_events(count), contract.clamp_gap(gap))
    events = (contract.event_text(number) for number in numbers)
    return StreamingHttpResponse(events, content_type="text/event-stream", headers={"Cache-Control": "no-store"})


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's own rejections of a body (400), as JSON."""
    return json_response({"error": str(exception)}, 400)


def no_such_path(request: HttpRequest, exception: Exception) -> HttpResponse:
    return json_response({"error": "there is no such path"}, 404)
