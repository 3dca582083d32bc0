"""The one part of Django's CommonMiddleware that is needed here."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

View = Callable[[HttpRequest], HttpResponse]


def content_length(get_response: View) -> View:
    """Add Content-Length, so that no server has to send a chunked response."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if response.streaming:
            return response
        response.headers["Content-Length"] = str(len(response.content))
        if request.method == "HEAD":
            response.content = b""
        return response

    return middleware
