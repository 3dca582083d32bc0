"""Responses of a server with TLS, whose certificate nobody verifies."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading

import pytest
from captured import refused
from served import served

from bench.contract.client import Client, NoAnswer, Request, TimedOut

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture(scope="module")
def server_side(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """Of a server with a certificate of its own, for a name that is not asked for."""
    folder = tmp_path_factory.mktemp("certificate")
    files = (str(folder / "certificate.pem"), str(folder / "key.pem"))
    made = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 1 -subj /CN=other.example"
    subprocess.run([*made.split(), "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context


def test_a_server_with_tls_is_asked_on_kept_and_on_new_connections(server_side: ssl.SSLContext) -> None:
    requests: list[list[bytes]] = []
    names: list[str | None] = []
    server_side.sni_callback = lambda connection, name, context: names.append(name)

    def serve(connection: socket.socket) -> None:
        requests.append(own := [])
        with server_side.wrap_socket(connection, server_side=True) as encrypted:
            while len(own) < 2 and (request := encrypted.recv(65536)):
                own.append(request)
                encrypted.sendall(OK if len(own) == 1 else OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))

    with served(serve) as port, Client(f"https://localhost:{port}").session() as session:
        answers = [session.ask(Request("/x")) for _ in range(3)]
    assert [(answer.status, answer.body) for answer in answers] == [(200, b"ok")] * 3
    assert [len(own) for own in requests] == [2, 1] and names == ["localhost", "localhost"]
    assert b"\r\nHost: localhost:%d\r\n" % port in requests[0][0]


def test_a_port_without_tls_says_so() -> None:
    with served(lambda connection: connection.sendall(OK)) as port:
        assert "wrong version number" in str(refused(NoAnswer, Client(f"https://127.0.0.1:{port}").get, "/"))


def test_a_handshake_that_never_ends_is_ended() -> None:
    """A byte now and then keeps a socket's own timeout from passing."""
    ended = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(b"\x16\x03\x03\x40\x00")  # the header of a long record
        while not ended.wait(0.05):
            connection.sendall(b"y")

    with served(drip) as port, pytest.raises(TimedOut, match=r"within 0\.4 s"):
        Client(f"https://127.0.0.1:{port}", 0.4).get("/")
    ended.set()


def test_without_a_port_it_is_that_of_https() -> None:
    assert (Client("https://127.0.0.1")._port, Client("http://127.0.0.1")._port) == (443, 80)
