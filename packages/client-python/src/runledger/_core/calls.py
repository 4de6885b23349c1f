"""Sends operations, and sends them again where that is safe."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from itertools import count
from typing import Any, TypeVar

from .._version import VERSION
from ..errors import RunledgerError
from ..files import is_file
from .effects import Emit, Flow, Request, Response, Sleep, send
from .foreign import asked_by, with_member
from .operation import Operation, Pages, Stream, with_query
from .responses import NEVER_KNOWN, refusal_of, result_of
from .settings import Settings

T = TypeVar("T")
Item = TypeVar("Item")
AnyOperation = Operation[Any] | Stream

USER_AGENT = f"runledger-python/{VERSION}"


def call(settings: Settings, operation: Operation[T], *, longer_s: float = 0) -> Flow[T]:
    """The result of an operation. `longer_s`: how long the service may wait before it answers. Raises RunledgerError."""
    request = request_of(settings, operation, longer_s=longer_s)

    def attempt() -> Flow[T]:
        result: T = result_of(asked_by(request, settings.url), (yield from sent(settings, request)))
        return result

    return (yield from retrying(settings, attempt, idempotent=operation.idempotent))


def retrying(settings: Settings, attempt: Callable[[], Flow[T]], *, idempotent: bool) -> Flow[T]:
    """What comes of the first attempt that does not fail. Raises RunledgerError."""
    for failures in count(1):
        try:
            return (yield from attempt())
        except RunledgerError as error:
            delay = settings.retries.delay_s(error, failures, idempotent=idempotent)
            if delay is None:
                raise
        yield Sleep(delay)
    raise AssertionError("the loop does not end")


def sent(settings: Settings, request: Request) -> Flow[Response]:
    """Sends a request once. Raises RunledgerError."""
    return accepted(settings, request, (yield from send(request)))


def accepted(settings: Settings, request: Request, response: Response) -> Response:
    """The response, if it is a success. Raises ApiError."""
    refusal = refusal_of(asked_by(request, settings.url), response)
    if refusal is not None:
        raise refusal
    return response


def each(settings: Settings, pages: Pages[Any, Item]) -> Flow[None]:
    """Emits the items of all pages, and requests a page when the one before is used up."""
    cursor = pages.query.get("cursor")
    while True:
        page = yield from call(settings, _page_at(pages, cursor))
        for item in with_member(page, pages.items)[pages.items]:
            yield Emit(item)
        following = page.get("next_cursor")
        if following is None:
            return
        if following == cursor:
            raise RunledgerError(f"The service returned the same page again. {NEVER_KNOWN}")
        cursor = following


def _page_at(pages: Pages[Any, Any], cursor: object) -> Operation[Any]:
    return replace(pages, query={**pages.query, "cursor": cursor})


def request_of(settings: Settings, operation: AnyOperation, *, longer_s: float = 0) -> Request:
    headers = {
        **{name.lower(): value for name, value in operation.headers.items()},
        # Python reads them as they are. Others get an integer that a double would change as a string.
        "accept": "application/json; numbers=exact",
        "authorization": f"Bearer {settings.api_key}",
        "user-agent": USER_AGENT,
    }
    content = operation.content
    if operation.body is not None:
        headers["content-type"] = "application/json"
        content = json_bytes(operation.body)
    url = f"{settings.url}{with_query(operation.path, operation.query)}"
    return Request(operation.method, url, headers, content, settings.timeout_s + longer_s)


def json_bytes(value: object) -> bytes:
    """Raises RunledgerError for what JSON cannot express."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"), default=_in_json).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise RunledgerError(f"The request cannot be written as JSON: {error}.") from error


def _in_json(value: object) -> object:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if is_file(value):
        raise TypeError("a file must be the whole value of an input, not a part of one")
    raise TypeError(f"{type(value).__name__} has no form in it")
