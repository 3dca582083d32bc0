"""Which view serves which path."""

from common.sync_backends import Store, backends
from django.urls import URLPattern, path, register_converter
from django.urls.converters import StringConverter

from bench import views
from bench.store import orm


class SegmentConverter(StringConverter):
    """A path segment that may be empty: Django's own `str` needs at least one character."""

    regex = "[^/]*"


register_converter(SegmentConverter, "segment")


def database_routes(kind: str, store: Store) -> list[URLPattern]:
    """The database routes of one store."""
    return [
        path(f"{kind}/db", views.db, {"store": store}),
        path(f"{kind}/queries/<segment:number>", views.queries, {"store": store}),
        path(f"{kind}/updates/<segment:number>", views.updates, {"store": store}),
        path(f"{kind}/fortunes", views.fortunes, {"store": store}),
    ]


urlpatterns = [
    path("", views.root),
    path("plaintext", views.plaintext),
    path("json", views.greeting),
    path("simple_json", views.greeting),
    path("json_20kb", views.page),
    path("http-route-example", views.route_example),
    path("simple_request/<segment:number>", views.simple_request),
    path("create_data/<segment:number>", views.create_data),
    path("echo", views.echo),
    path("sse/<segment:count>/<segment:gap>", views.sse),
    *database_routes("raw", backends.raw),
    *database_routes("orm", orm),
]
handler400 = views.refused
handler404 = views.no_such_path
