"""Carries out flows with blocking calls."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, TypeVar

import httpx

from .._core.effects import (
    Blocking,
    Body,
    Effect,
    Emit,
    Flow,
    Handler,
    Now,
    Open,
    Read,
    Request,
    Response,
    Send,
    Shielded,
    Sleep,
    Watch,
    Watched,
)
from .steps import (
    MAX_RESPONSE_BYTES,
    PIECE_BYTES,
    Steps,
    closed,
    connection_failed,
    headers_received,
    headers_to_send,
    not_ascii,
    timeouts,
    too_large,
)

T = TypeVar("T")

#: Values that threads emitted and the caller did not handle yet.
MAX_WAITING_VALUES = 100
LOOK_EVERY_S = 0.2


class _Connection:
    """The stream that a flow has open: one at most."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self._response: httpx.Response | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._url = ""

    def send(self, request: Request) -> Response:
        response = self._request(request)
        with closing(response):
            return self._read_whole(response)

    def open(self, request: Request) -> Response:
        self.close()
        response = self._request(request)
        if not response.is_success:
            with closing(response):
                return self._read_whole(response)
        self._response, self._pieces = response, response.iter_bytes()
        return Response(response.status_code, headers_received(response.headers), b"")

    def read(self) -> bytes:
        try:
            return next((piece for piece in self._pieces if piece), b"")
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise connection_failed(error, self._url) from error  # type: ignore[arg-type]

    def close(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None

    def _request(self, request: Request) -> httpx.Response:
        self._url = request.url
        if self._http.is_closed:
            raise closed()
        content = _pieces_of(request.content) if isinstance(request.content, Body) else request.content
        try:
            built = self._http.build_request(
                request.method,
                request.url,
                headers=headers_to_send(request),
                content=content,
                timeout=timeouts(request),
            )
            return self._http.send(built, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise connection_failed(error, request.url) from error
        except UnicodeError as error:
            raise not_ascii(error) from error

    def _read_whole(self, response: httpx.Response) -> Response:
        body = bytearray()
        try:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_RESPONSE_BYTES:
                    raise too_large()
        except httpx.HTTPError as error:
            raise connection_failed(error, self._url) from error
        return Response(response.status_code, headers_received(response.headers), bytes(body))


def _pieces_of(body: Body) -> Iterator[bytes]:
    offset = body.start
    while offset < body.end:
        piece = body.read(offset, min(PIECE_BYTES, body.end - offset))
        offset += len(piece)
        yield piece


class SyncDriver:
    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def run(self, flow: Flow[T]) -> T:
        """The result of a flow that emits nothing."""
        steps = Steps(flow)
        for _ in self._emitted(steps):
            pass
        return steps.result

    def iterate(self, flow: Flow[None]) -> Iterator[Any]:
        """What a flow emits. Its stream is closed when the caller stops."""
        return self._emitted(Steps(flow))

    def _emitted(self, steps: Steps[Any]) -> Iterator[Any]:
        with closing(_Connection(self._http)) as connection:
            effect = steps.begin()
            while effect is not None:
                if isinstance(effect, Emit):
                    yield effect.value
                    effect = steps.after(None)
                    continue
                try:
                    outcome = self._carry_out(effect, connection)
                except BaseException as error:
                    effect = steps.failed(error)
                else:
                    effect = steps.after(outcome)

    def _carry_out(self, effect: Effect, connection: _Connection) -> object:
        match effect:
            case Send(request):
                return connection.send(request)
            case Open(request):
                return connection.open(request)
            case Read():
                return connection.read()
            case Sleep(seconds):
                time.sleep(seconds)
            case Now():
                return time.monotonic()
            case Blocking(function):
                return function()
            case Watch(watched):
                self._watch(watched)
            case Shielded(flow):
                return self.run(flow)
            case Emit():
                raise AssertionError("an Emit is not carried out")
        return None

    def _watch(self, watched: Watched) -> None:
        if len(watched) > 1:
            self._watch_in_threads(watched)
            return
        for flow, handle in watched:
            for value in self.iterate(flow):
                handle(value)

    def _watch_in_threads(self, watched: Watched) -> None:
        """Each flow has a thread, and the handlers are called in that of the caller."""
        values: queue.Queue[tuple[Handler | None, Any]] = queue.Queue(MAX_WAITING_VALUES)
        stopped = threading.Event()

        def put(handle: Handler | None, value: Any) -> None:
            while not stopped.is_set():
                try:
                    values.put((handle, value), timeout=LOOK_EVERY_S)
                    return
                except queue.Full:
                    continue

        def follow(flow: Flow[None], handle: Handler) -> None:
            try:
                for value in self.iterate(flow):
                    put(handle, value)
                    if stopped.is_set():
                        return
                put(None, None)
            except BaseException as error:
                put(None, error)

        for flow, handle in watched:
            # A daemon: when the caller is interrupted, it ends with its stream, which ends with the run.
            threading.Thread(target=follow, args=(flow, handle), daemon=True).start()
        following = len(watched)
        try:
            while following:
                handler, value = values.get()
                if handler is not None:
                    handler(value)
                elif value is not None:
                    raise value
                else:
                    following -= 1
        finally:
            stopped.set()
