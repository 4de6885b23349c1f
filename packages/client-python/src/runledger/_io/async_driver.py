"""Carries out flows with `await`, on asyncio and on trio."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
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
from ..errors import RunledgerError
from .steps import (
    MAX_RESPONSE_BYTES,
    PIECE_BYTES,
    SHIELDED_FOR_S,
    Steps,
    closed,
    connection_failed,
    headers_received,
    headers_to_send,
    made_http,
    not_ascii,
    timeouts,
    too_large,
)

T = TypeVar("T")


class _Connection:
    """The stream that a flow has open: one at most."""

    def __init__(self, pool: _Pool) -> None:
        self._pool = pool
        self._response: httpx.Response | None = None
        self._pieces: AsyncIterator[bytes] | None = None
        self._url = ""

    async def send(self, request: Request) -> Response:
        response = await self._request(request)
        async with aclosing(response):
            return await self._read_whole(response)

    async def open(self, request: Request) -> Response:
        await self.aclose()
        response = await self._request(request)
        if not response.is_success:
            async with aclosing(response):
                return await self._read_whole(response)
        self._response, self._pieces = response, response.aiter_bytes()
        return Response(response.status_code, headers_received(response.headers), b"")

    async def read(self) -> bytes:
        if self._pieces is None:
            return b""
        try:
            async for piece in self._pieces:
                if piece:
                    return piece
            return b""
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise connection_failed(error, self._url) from error  # type: ignore[arg-type]

    async def aclose(self) -> None:
        if self._response is not None:
            await self._response.aclose()
            self._response = None

    async def _request(self, request: Request) -> httpx.Response:
        self._url = request.url
        http = self._pool.of_this_loop()
        content = _pieces_of(request.content) if isinstance(request.content, Body) else request.content
        try:
            built = http.build_request(
                request.method,
                request.url,
                headers=headers_to_send(request),
                content=content,
                timeout=timeouts(request),
            )
            return await http.send(built, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise connection_failed(error, request.url) from error
        except UnicodeError as error:
            raise not_ascii(error) from error

    async def _read_whole(self, response: httpx.Response) -> Response:
        body = bytearray()
        try:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MAX_RESPONSE_BYTES:
                    raise too_large()
        except httpx.HTTPError as error:
            raise connection_failed(error, self._url) from error
        return Response(response.status_code, headers_received(response.headers), bytes(body))


async def _pieces_of(body: Body) -> AsyncIterator[bytes]:
    offset = body.start
    while offset < body.end:
        piece = await anyio.to_thread.run_sync(body.read, offset, min(PIECE_BYTES, body.end - offset))
        offset += len(piece)
        yield piece


class _Pool:
    """The connections of a client. They belong to an event loop: another one, as of a second `asyncio.run`, gets others."""

    def __init__(self, given: httpx.AsyncClient | None) -> None:
        self._given = given
        #: The present ones and their loop, which is None before the first request. Loops of other threads may change both.
        self._present: tuple[object, httpx.AsyncClient] = (None, given or made_http(httpx.AsyncClient))
        self._is_closed = False

    def of_this_loop(self) -> httpx.AsyncClient:
        """Raises RunledgerError for a client of the caller in another loop than its first."""
        loop, http = self._present
        if self._is_closed or http.is_closed:
            raise closed()
        now = anyio.lowlevel.current_token()
        if loop not in (None, now):
            if self._given:
                raise RunledgerError(
                    "The client that was given as http= was used in another event loop, and its connections belong to that "
                    "one. Give another one within each asyncio.run, or none: without it there are connections for each loop."
                )
            # Only their own loop can close the others. When it has ended they go with the objects.
            http = made_http(httpx.AsyncClient)
        self._present = (now, http)
        return http

    async def aclose(self) -> None:
        if self._given or self._is_closed:
            return
        self._is_closed = True
        loop, http = self._present
        if loop in (None, anyio.lowlevel.current_token()):
            await http.aclose()


class AsyncDriver:
    """`http`: a client of the caller, who closes it."""

    def __init__(self, http: httpx.AsyncClient | None) -> None:
        self._pool = _Pool(http)

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def run(self, flow: Flow[T]) -> T:
        """The result of a flow that emits nothing."""
        steps = Steps(flow)
        async with aclosing(self._emitted(steps)) as emitted:
            async for _ in emitted:
                pass
        return steps.result

    def iterate(self, flow: Flow[None]) -> AsyncIterator[Any]:
        """What a flow emits. Its stream is closed when the caller stops."""
        return self._emitted(Steps(flow))

    async def _emitted(self, steps: Steps[Any]) -> AsyncGenerator[Any, None]:
        async with aclosing(_Connection(self._pool)) as connection:
            effect = steps.begin()
            while effect is not None:
                if isinstance(effect, Emit):
                    yield effect.value
                    effect = steps.after(None)
                    continue
                try:
                    outcome = await self._carry_out(effect, connection)
                except BaseException as error:
                    effect = steps.failed(error)
                else:
                    effect = steps.after(outcome)

    async def _carry_out(self, effect: Effect, connection: _Connection) -> object:
        match effect:
            case Send(request):
                return await connection.send(request)
            case Open(request):
                return await connection.open(request)
            case Read():
                return await connection.read()
            case Sleep(seconds):
                await anyio.sleep(seconds)
            case Now():
                return time.monotonic()
            case Blocking(function):
                return await anyio.to_thread.run_sync(function)
            case Watch(watched):
                await self._watch(watched)
            case Shielded(flow):
                with anyio.move_on_after(SHIELDED_FOR_S, shield=True):
                    await self.run(flow)
            case Emit():
                raise AssertionError("an Emit is not carried out")
        return None

    async def _watch(self, watched: Watched) -> None:
        failed: list[Exception] = []

        async def follow(flow: Flow[None], handle: Handler) -> None:
            try:
                async with aclosing(self._emitted(Steps(flow))) as values:
                    async for value in values:
                        handled = handle(value)
                        if inspect.isawaitable(handled):
                            await handled
            except Exception as error:
                # As itself and not in a group.
                failed.append(error)
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for flow, handle in watched:
                group.start_soon(follow, flow, handle)
        if failed:
            raise failed[0]
