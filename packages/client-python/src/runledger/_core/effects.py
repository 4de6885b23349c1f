"""
What the logic of the clients needs from outside. A flow is a generator that yields effects and is sent their results; it
does no I/O. The drivers in `_io` carry out the effects, one with blocking calls and one with `await`, so each flow is
written once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, Union

T = TypeVar("T")


@dataclass(frozen=True)
class Body:
    """The bytes of a request: `read(offset, size)` gives some of them, and may block."""

    read: Callable[[int, int], bytes]
    #: Where the body begins and ends in what is read.
    start: int
    end: int


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    #: Names in lower case. They have the API key, so no message shows them.
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | Body | None = field(repr=False)
    #: Seconds without any data after which the connection counts as lost.
    timeout_s: float


@dataclass(frozen=True)
class Response:
    status: int
    #: Names in lower case.
    headers: Mapping[str, str]
    #: Empty for a response that is read in pieces.
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class Send:
    """Its result is the Response. Raises ConnectionFailed."""

    request: Request


@dataclass(frozen=True)
class Open:
    """Like Send, and the body of a success is then read with Read. Ends the stream that the flow opened before."""

    request: Request


@dataclass(frozen=True)
class Read:
    """Its result is the next bytes of the open stream; none at its end. Raises ConnectionFailed."""


@dataclass(frozen=True)
class Sleep:
    seconds: float


@dataclass(frozen=True)
class Now:
    """Its result is a monotonic time in seconds."""


@dataclass(frozen=True)
class Blocking:
    """Its result is that of the function, which reads files."""

    function: Callable[[], Any]


@dataclass(frozen=True)
class Emit:
    """Gives a value to whoever iterates over the flow."""

    value: Any


@dataclass(frozen=True)
class Watch:
    """Carries out several flows at the same time, and calls a function with each value that they emit, one after the other."""

    watched: Watched


@dataclass(frozen=True)
class Shielded:
    """Carries out a flow to its end even though the caller was cancelled, for some seconds at most."""

    flow: Flow[Any]


Effect: TypeAlias = Union[Send, Open, Read, Sleep, Now, Blocking, Emit, Watch, Shielded]
Flow: TypeAlias = Generator[Effect, Any, T]
#: Called with a value; what it returns is awaited by the async driver, if it can be.
Handler: TypeAlias = Callable[[Any], Any]
Watched: TypeAlias = tuple[tuple[Flow[None], Handler], ...]


def send(request: Request) -> Flow[Response]:
    response: Response = yield Send(request)
    return response


def open_stream(request: Request) -> Flow[Response]:
    response: Response = yield Open(request)
    return response


def read() -> Flow[bytes]:
    piece: bytes = yield Read()
    return piece


def now() -> Flow[float]:
    time: float = yield Now()
    return time


def blocking(function: Callable[[], T]) -> Flow[T]:
    result: T = yield Blocking(function)
    return result
