"""Streams of events: read as they arrive, and continued after a lost connection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import RunledgerError
from .calls import accepted, request_of, retrying
from .effects import Emit, Flow, Response, Sleep, open_stream, read
from .foreign import asked_by
from .operation import Stream
from .responses import NEVER_KNOWN, lost, no_page
from .settings import Settings
from .sse import EventParser, Message

#: Comments come every 15 s.
IDLE_TIMEOUT_S = 45.0
NOTHING_FOLLOWS = 204
MAX_LINE_BYTES = 4 * 1024 * 1024

#: What to emit for a message, and whether it was the last one.
ReadMessage = Callable[[Message], tuple[Iterable[Any], bool]]


def opened(settings: Settings, stream: Stream) -> Flow[Response]:
    """Opens a stream once. Raises RunledgerError."""
    request = request_of(settings, stream, longer_s=max(0.0, IDLE_TIMEOUT_S - settings.timeout_s))
    return accepted(settings, request, (yield from open_stream(request)))


def opened_text(settings: Settings, stream: Stream) -> Flow[Response]:
    """The same for events and lines, which are no page."""
    response = yield from opened(settings, stream)
    return no_page(asked_by(request_of(settings, stream), settings.url), response)


def pieces(settings: Settings, stream: Stream) -> Flow[None]:
    """Emits the bytes of a response as they arrive. Only its beginning is tried again."""
    yield from retrying(settings, lambda: opened(settings, stream), idempotent=stream.idempotent)
    while piece := (yield from read()):
        yield Emit(piece)


def json_lines(settings: Settings, stream: Stream) -> Flow[None]:
    """Emits the JSON of each line of a response."""
    yield from retrying(settings, lambda: opened_text(settings, stream), idempotent=stream.idempotent)
    rest = b""
    while piece := (yield from read()):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield Emit(json_of(line))
        if len(rest) > MAX_LINE_BYTES:
            raise RunledgerError(f"A line of the response has more than {MAX_LINE_BYTES} bytes.")
    if rest:
        raise lost("the connection ended in the middle of a line")


def messages(
    settings: Settings, stream_after: Callable[[str | None], Stream], after: str | None, read_message: ReadMessage
) -> Flow[None]:
    """
    Emits what `read_message` makes of the events after the one with the id `after`. When the connection is lost, or the
    service ends the stream, it continues after the last event. Raises RunledgerError when that fails too often in a row.
    """
    failures = 0
    while True:
        parser = EventParser()
        try:
            response = yield from opened_text(settings, stream_after(after))
            if response.status == NOTHING_FOLLOWS:
                return
            while piece := (yield from read()):
                failures = 0
                for message in parser.feed(piece):
                    emitted, is_last = read_message(message)
                    for value in emitted:
                        yield Emit(value)
                    after = message.id or after
                    if is_last:
                        return
            error: RunledgerError = lost("the service ended the stream")
        except RunledgerError as failed:
            error = failed
        failures += 1
        delay = settings.retries.delay_s(error, failures, idempotent=True)
        if delay is None:
            raise error
        yield Sleep(max(delay, parser.retry_s or 0))


def json_of(text: str | bytes) -> Any:
    """Raises RunledgerError for what is no JSON object."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    raise RunledgerError(f"The service sent something that this release does not understand. {NEVER_KNOWN}")
