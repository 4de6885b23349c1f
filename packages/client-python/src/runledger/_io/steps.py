"""Carries a flow out step by step, for both drivers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from errno import EMFILE, ENFILE
from os import environ
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


#: A run that is followed holds a connection to its end, so their number is that of the runs.
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=100)
Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)


def made_http(kind: Callable[..., Http]) -> Http:
    """A client with the proxy and the certificates that the environment names. Raises RunledgerError for what is wrong there."""
    try:
        return kind(limits=LIMITS)
    except ImportError as error:
        raise RunledgerError(
            "A SOCKS proxy is set (ALL_PROXY, HTTPS_PROXY or HTTP_PROXY), and httpx lacks what it needs for it. "
            "Install it: pip install 'httpx[socks]'. Or unset that variable."
        ) from error
    except httpx.InvalidURL as error:
        raise RunledgerError(
            f"NO_PROXY, or a variable of a proxy such as HTTPS_PROXY, has no address that can be read: {error}. "
            "A proxy has the form http://host:port; NO_PROXY has names and addresses without brackets, such as localhost,::1."
        ) from error
    except ValueError as error:
        raise RunledgerError(
            f"A variable of a proxy (HTTP_PROXY, HTTPS_PROXY or ALL_PROXY) names none that is known: {error}. "
            "It has the form http://host:port, or socks5://host:port."
        ) from error
    except OSError as error:
        # An SSLError is one too.
        raise RunledgerError(
            f"The certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: {error}. "
            "Name a file with certificates in PEM, or unset it."
        ) from error


def timeouts(request: Request) -> httpx.Timeout:
    """Waiting for a connection of a pool is no failure: `http` of the caller may have few."""
    return httpx.Timeout(request.timeout_s, connect=min(CONNECT_WITHIN_S, request.timeout_s), pool=None)


def headers_to_send(request: Request) -> dict[str, str]:
    """A body that is read from a file has a length, so that it is not sent in chunks."""
    if isinstance(request.content, Body):
        return {**request.headers, "content-length": str(request.content.end - request.content.start)}
    return dict(request.headers)


def headers_received(headers: httpx.Headers) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def connection_failed(error: httpx.HTTPError | httpx.InvalidURL, url: str) -> ConnectionFailed:
    """Why there is no response."""
    sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.InvalidURL))
    why = str(error) or type(error).__name__
    return lost(f"{url.split('?')[0]}: {why}{'' if sent else _advice(error)}", sent=sent)


PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


def _advice(error: BaseException) -> str:
    if any(isinstance(each, OSError) and each.errno in (EMFILE, ENFILE) for each in _causes(error)):
        return ". Every run that is followed holds a connection: let the process open more files (ulimit -n)"
    if isinstance(error, httpx.ProxyError):
        return ". The proxy is the one of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY; NO_PROXY names what needs none"
    proxy = next((name for name in PROXIES if environ.get(name) or environ.get(name.lower())), None)
    through = "" if proxy is None else f", and the proxy that {proxy} names reachable, if it is used (NO_PROXY names what needs none)"
    return f". Is the service running, and RUNLEDGER_URL its address{through}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    for each in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        if each is not None:
            yield from _causes(each)


def not_ascii(error: UnicodeError) -> RunledgerError:
    return RunledgerError(
        f"A header of the request, such as the idempotency key, has characters beyond ASCII: {error}."
    )


def closed() -> RunledgerError:
    return RunledgerError("The client is closed. Make another one; a with block closes its client at its end.")


def too_large() -> RunledgerError:
    return RunledgerError(
        f"The response has more than {MAX_RESPONSE_BYTES} bytes. Read it in pieces, with client.stream, or in smaller pages."
    )
