"""The one part of Django's CommonMiddleware that is needed here."""

from collections.abc import Awaitable, Callable

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import async_only_middleware

View = Callable[[HttpRequest], Awaitable[HttpResponse]]


@async_only_middleware
def content_length(get_response: View) -> View:
    """Add Content-Length, so that no server has to send a chunked response."""

    async def middleware(request: HttpRequest) -> HttpResponse:
        response = await get_response(request)
        if response.streaming:
            return response
        response.headers["Content-Length"] = str(len(response.content))
        if request.method == "HEAD":
            response.content = b""
        return response

    return middleware
