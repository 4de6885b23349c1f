"""Files as values of inputs."""

from __future__ import annotations

import mimetypes
import os
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias, Union

Content: TypeAlias = Union[bytes, bytearray, memoryview, "os.PathLike[str]", BinaryIO]


@dataclass(frozen=True)
class File:
    """
    A file with a name or a type of its own: `File(data, filename="fox.png")`. A path, bytes and an open binary file may
    also be given as they are. Text is never a path.
    """

    content: Content
    filename: str | None = None
    #: The MIME type; without one it follows from the name.
    content_type: str | None = None


FileInput: TypeAlias = Union[File, Content]


def is_file(value: object) -> bool:
    return isinstance(value, (File, bytes, bytearray, memoryview, os.PathLike)) or hasattr(value, "readinto")


def content_type_of(filename: str) -> str:
    return mimetypes.guess_type(filename)[0] or "application/octet-stream"
