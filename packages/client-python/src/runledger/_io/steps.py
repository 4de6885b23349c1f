"""Carries a flow out step by step, for both drivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

import httpx

from .._core.effects import Body, Effect, Flow, Request
from .._core.responses import lost
from ..errors import ConnectionFailed, RunledgerError

T = TypeVar("T")

#: Of a response that is read as a whole.
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
PIECE_BYTES = 256 * 1024
CONNECT_WITHIN_S = 10.0
#: How long a cancelled caller is kept until the run is cancelled too.
SHIELDED_FOR_S = 10.0


class Steps(Generic[T]):
    """A flow whose effects are carried out one after the other. `result` is there when there is no further effect."""

    result: T

    def __init__(self, flow: Flow[T]) -> None:
        self._flow = flow

    def begin(self) -> Effect | None:
        return self.after(None)

    def after(self, outcome: object) -> Effect | None:
        """The next effect, when the last one has this outcome."""
        try:
            return self._flow.send(outcome)
        except StopIteration as end:
            self.result = end.value
            return None

    def failed(self, error: BaseException) -> Effect | None:
        """The next effect, when the last one failed. Raises what the flow does not handle."""
        try:
            return self._flow.throw(error)
        except StopIteration as end:
            self.result = end.value
            return None


def timeouts(request: Request) -> httpx.Timeout:
    return httpx.Timeout(request.timeout_s, connect=min(CONNECT_WITHIN_S, request.timeout_s))


def headers_to_send(request: Request) -> dict[str, str]:
    """A body that is read from a file has a length, so that it is not sent in chunks."""
    if isinstance(request.content, Body):
        return {**request.headers, "content-length": str(request.content.end - request.content.start)}
    return dict(request.headers)


def headers_received(headers: httpx.Headers) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def connection_failed(error: httpx.HTTPError | httpx.InvalidURL, url: str) -> ConnectionFailed:
    """Why there is no response."""
    sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.InvalidURL))
    why = str(error) or type(error).__name__
    advice = "" if sent else ". Is the service running, and RUNLEDGER_URL its address"
    return lost(f"{url.split('?')[0]}: {why}{advice}", sent=sent)


def too_large() -> RunledgerError:
    return RunledgerError(
        f"The response has more than {MAX_RESPONSE_BYTES} bytes. Read it in pieces, with client.stream, or in smaller pages."
    )
