"""Server-sent events, as the HTML standard defines them: https://html.spec.whatwg.org/multipage/server-sent-events.html"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import RunledgerError

#: In characters. The last fact of a run has its outputs.
MAX_EVENT_LENGTH = 4 * 1024 * 1024
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Message:
    event: str
    data: str
    #: The id of this event or of the last one that had one; None before that.
    id: str | None


class EventParser:
    """Makes events of the pieces of a stream. Comments and unknown fields give nothing."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        #: The beginning of a line whose end did not arrive.
        self._rest: list[str] = []
        self._rest_length = 0
        #: A CR, which may be the first half of a line end.
        self._held = ""
        self._begun = False
        self._event = ""
        self._data: list[str] = []
        #: Of the data.
        self._length = 0
        self._id: str | None = None
        #: Seconds after which the service wants the client to connect again; None when it did not say.
        self.retry_s: float | None = None

    def feed(self, piece: bytes) -> Iterator[Message]:
        """Raises RunledgerError for an event that is too long."""
        text = self._decoder.decode(piece)
        if not self._begun and text:
            self._begun = True
            text = text.removeprefix("\ufeff")
        for line in self._lines(text):
            message = self._take(line)
            if message is not None:
                yield message

    def _lines(self, text: str) -> list[str]:
        """The lines that ended. A line end that is CR and LF may arrive in two pieces."""
        text, self._held = self._held + text, ""
        if text.endswith("\r"):
            text, self._held = text[:-1], "\r"
        first, *others = _LINE_END.split(text)
        # Only the new text is searched: a long line may come in many pieces.
        self._rest.append(first)
        self._rest_length += len(first)
        if self._rest_length > MAX_EVENT_LENGTH:
            raise _too_long()
        if not others:
            return []
        *lines, rest = "".join(self._rest), *others
        self._rest, self._rest_length = [rest], len(rest)
        return lines

    def _take(self, line: str) -> Message | None:
        if line == "":
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
            self._length += len(value) + 1
            if self._length > MAX_EVENT_LENGTH:
                raise _too_long()
        elif name == "id" and "\0" not in value:
            self._id = value or None
        elif name == "retry" and value.isascii() and value.isdigit() and len(value) <= 6:
            self.retry_s = int(value) / 1_000
        return None

    def _dispatch(self) -> Message | None:
        message = Message(self._event or "message", "\n".join(self._data), self._id) if self._data else None
        self._event, self._data, self._length = "", [], 0
        return message


def _too_long() -> RunledgerError:
    return RunledgerError(f"An event of the stream has more than {MAX_EVENT_LENGTH} characters.")
