"""What Django leaves to its CommonMiddleware, which does more than is needed here."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

View = Callable[[HttpRequest], HttpResponse]


def content_length(get_response: View) -> View:
    """Says how long each answer is, so that no server has to send it in chunks."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers["Content-Length"] = str(len(response.content))
        if request.method == "HEAD":
            response.content = b""
        return response

    return middleware
