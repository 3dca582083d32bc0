"""The contract's views.

Forms, from docs.djangoproject.com:
JSON        "Request and response objects" (JsonResponse)
templates   "Django shortcut functions" (render), "Templates"
database    "Databases" (Connection pool), "Asynchronous support" (Queries & the ORM)
lifespan    none of its own ("How to deploy with ASGI"): app.py
streams     "Request and response objects" (StreamingHttpResponse, When to use; with an asynchronous iterator)
websocket   none of its own: app.py
"""

import asyncio
from typing import Any

from common import contract
from common.async_backends import Backends, Store, UpstreamError
from common.async_paced import paced
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST, require_safe

from bench.store import orm


def json_response(value: Any, status: int = 200) -> HttpResponse:
    """Like JsonResponse, but with one encoder for all requests: json.dumps() creates a new one on each call."""
    return HttpResponse(contract.to_json(value), content_type="application/json", status=status)


def text_response(text: str) -> HttpResponse:
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def backends(request: HttpRequest) -> Backends:
    """The backends that the server opened at startup."""
    opened: Backends = request.scope["state"]["backends"]
    return opened


def store(request: HttpRequest, kind: str) -> Store:
    return backends(request).raw if kind == "raw" else orm


@require_safe
async def plaintext(request: HttpRequest) -> HttpResponse:
    return text_response(contract.GREETING)


@require_safe
async def greeting(request: HttpRequest) -> HttpResponse:
    return json_response({"message": contract.GREETING})


@require_safe
async def page(request: HttpRequest) -> HttpResponse:
    return json_response(contract.PAGE)


@require_safe
async def route_example(request: HttpRequest) -> HttpResponse:
    return text_response(contract.ROUTE_RESPONSE)


@require_safe
async def root(request: HttpRequest) -> HttpResponse:
    duration = contract.clamp_duration(request.GET.get("duration"))
    if duration:
        await asyncio.sleep(duration / 1000)
    return json_response({"duration": duration})


@require_safe
async def simple_request(request: HttpRequest, number: str) -> HttpResponse:
    try:
        return json_response(await backends(request).upstream.delay(contract.clamp_duration(number)))
    except UpstreamError as failure:
        return json_response({"error": str(failure)}, 502)


@require_safe
async def create_data(request: HttpRequest, number: str) -> HttpResponse:
    count = contract.clamp_count(number)
    await backends(request).raw.create_data(count)
    return json_response({"created": count})


@require_safe
async def db(request: HttpRequest, kind: str) -> HttpResponse:
    return json_response((await store(request, kind).worlds(1))[0])


@require_safe
async def queries(request: HttpRequest, kind: str, number: str) -> HttpResponse:
    return json_response(await store(request, kind).worlds(contract.clamp_count(number)))


@require_safe
async def updates(request: HttpRequest, kind: str, number: str) -> HttpResponse:
    return json_response(await store(request, kind).update_worlds(contract.clamp_count(number)))


@require_safe
async def fortunes(request: HttpRequest, kind: str) -> HttpResponse:
    return render(request, "fortunes.html", {"fortunes": contract.all_fortunes(await store(request, kind).fortunes())})


@require_POST
async def echo(request: HttpRequest) -> HttpResponse:
    try:
        return json_response(contract.echo(request.body))
    except ValueError as refusal:
        return json_response({"error": str(refusal)}, 400)


@require_GET
async def sse(request: HttpRequest, count: str, gap: str) -> StreamingHttpResponse:
    numbers = paced(contract.clamp_events(count), contract.clamp_gap(gap))
    events = (contract.event_text(number) async for number in numbers)
    return StreamingHttpResponse(events, content_type="text/event-stream", headers={"Cache-Control": "no-store"})


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's own rejections of a body (400), as JSON."""
    return json_response({"error": str(exception)}, 400)


def no_such_path(request: HttpRequest, exception: Exception) -> HttpResponse:
    return json_response({"error": "there is no such path"}, 404)
