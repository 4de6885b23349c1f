"""A server that does with each connection what the test says, for faults that a real service has rarely."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable
from typing import BinaryIO

#: Gets the request with its body, and writes bytes. The connection is closed after it.
Step = Callable[[bytes, BinaryIO], None]


def json_response(body: object, status: str = "200 OK", *headers: str) -> bytes:
    content = json.dumps(body).encode()
    head = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(content)}", *headers]
    return ("\r\n".join([*head, "connection: close", "", ""])).encode() + content


def stream_response(*frames: bytes, cut: bool) -> bytes:
    """A stream of events in chunks; `cut`: the last one is missing."""
    chunks = b"".join(f"{len(frame):x}\r\n".encode() + frame + b"\r\n" for frame in frames)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    return head + chunks + (b"" if cut else b"0\r\n\r\n")


class _Server(socketserver.ThreadingTCPServer):
    #: As many connect at once.
    request_queue_size = 256


class BrokenService:
    """Takes the steps in turn. A step may be the bytes to answer with; none of them to close the connection."""

    def __init__(self, *steps: bytes | Step) -> None:
        self.requests: list[bytes] = []
        left = list(steps)
        lock = threading.Lock()
        service = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                request = _read_request(self.rfile)
                with lock:
                    service.requests.append(request)
                    step = left.pop(0) if left else b""
                if isinstance(step, bytes):
                    self.wfile.write(step)
                else:
                    step(request, self.wfile)

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/api"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def lines(self) -> list[str]:
        return [request.split(b" HTTP/", 1)[0].decode() for request in self.requests]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _read_request(received: BinaryIO) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = received.readline()
        if not line:
            return head
        head += line
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return head + (received.read(int(lengths[0].split(b":")[1])) if lengths else b"")
