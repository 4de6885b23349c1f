"""Where the bytes of a file come from. These functions read files, so flows call them with `blocking`."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, cast

from ..errors import RunledgerError
from ..files import File, FileInput, content_type_of


@dataclass(frozen=True)
class Source:
    filename: str
    content_type: str
    size: int
    #: At most so many bytes from an offset on. Raises RunledgerError.
    read: Callable[[int, int], bytes]
    close: Callable[[], None]


def open_source(value: FileInput) -> Source:
    """Raises RunledgerError for what cannot be read, or only once."""
    file = value if isinstance(value, File) else File(value)
    content = file.content
    opened: BinaryIO
    if isinstance(content, (bytes, bytearray, memoryview)):
        name, opened, close = "", cast(BinaryIO, io.BytesIO(content)), _nothing
    elif isinstance(content, os.PathLike):
        opened = _open(content)
        name, close = os.path.basename(os.fspath(content)), opened.close
    else:
        given = getattr(content, "name", "")
        name, opened, close = os.path.basename(given) if isinstance(given, str) else "", content, _nothing
    # A file object begins where it is: its owner may have read some of it.
    start, size = _span(opened, name)
    filename = file.filename or name or "file"

    def read(offset: int, length: int) -> bytes:
        opened.seek(start + offset)
        piece = opened.read(min(length, size - offset))
        if not piece and length > 0:
            raise RunledgerError(f"{filename} became shorter while it was uploaded.")
        return piece

    return Source(filename, file.content_type or content_type_of(filename), size, read, close)


def _open(path: os.PathLike[str]) -> BinaryIO:
    try:
        # A pipe would block for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise RunledgerError(f"{path} is not a regular file. Name a file.")
        return open(path, "rb")
    except OSError as error:
        raise RunledgerError(f"{path} cannot be read: {error.strerror or error}.") from error


def _span(opened: BinaryIO, name: str) -> tuple[int, int]:
    try:
        start = opened.tell()
        end = opened.seek(0, io.SEEK_END)
        is_binary = isinstance(opened.read(0), bytes)
    except (OSError, ValueError, AttributeError) as error:
        raise RunledgerError(
            f"The file {name} cannot be read from any place, as a repeated upload must: give its bytes or its path."
        ) from error
    if not is_binary:
        raise RunledgerError(f"The file {name} was opened as text. Open it with mode 'rb', or give its path.")
    return start, end - start


def _nothing() -> None:
    return None
