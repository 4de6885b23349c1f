"""Uploads files, and continues an upload after a lost connection."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from .. import operations
from ..errors import ApiError, ConnectionFailed, RunledgerError, Unavailable
from ..files import FileInput, is_file
from .calls import call, request_of, sent
from .effects import Body, Flow, Sleep, blocking
from .foreign import with_member
from .operation import Operation
from .settings import Settings
from .sources import Source, open_source

if TYPE_CHECKING:
    from ..models import FileUpload, UploadedFile

#: A larger file is uploaded resumably. The service takes up to 64 MiB at once.
LARGEST_AT_ONCE = 16 * 1024 * 1024
TUS: Literal["1.0.0"] = "1.0.0"
BODY_TYPE = "application/offset+octet-stream"
STILL_WRITTEN = 409


def upload(settings: Settings, value: FileInput) -> Flow[UploadedFile]:
    """The uploaded file. Raises RunledgerError."""
    source = yield from blocking(lambda: open_source(value))
    try:
        if source.size <= LARGEST_AT_ONCE:
            return (yield from call(settings, _at_once(source)))
        return (yield from _resumably(settings, source))
    finally:
        source.close()


def with_uploaded_files(settings: Settings, value: Any) -> Flow[Any]:
    """The inputs, with the ids of uploaded files in the place of files, also in lists and mappings."""
    if is_file(value):
        file = yield from upload(settings, value)
        return with_member(file, "id")["id"]
    # One after the other: a gateway keeps a part of each in memory.
    if isinstance(value, Mapping):
        members = {}
        for name, member in value.items():
            members[name] = yield from with_uploaded_files(settings, member)
        return members
    if isinstance(value, (list, tuple)):
        items = []
        for item in value:
            items.append((yield from with_uploaded_files(settings, item)))
        return items
    return value


def _at_once(source: Source) -> Operation[UploadedFile]:
    whole = operations.upload_file(b"", filename=source.filename, content_type=source.content_type)
    # Equal bytes are one file, so that it may be sent twice.
    return replace(whole, content=Body(source.read, 0, source.size), idempotent=True)


def _resumably(settings: Settings, source: Source) -> Flow[UploadedFile]:
    begun = with_member((yield from call(settings, _begin(source))), "id")
    offset, failures = begun["offset"], 0
    while True:
        error: RunledgerError = Unavailable(f"The service has made no file of {source.filename} yet.", status=503)
        if offset < source.size:
            try:
                yield from sent(settings, request_of(settings, _rest(begun["id"], source, offset)))
            except (ApiError, ConnectionFailed) as failed:
                error = _passing(failed)
        state = yield from call(settings, operations.get_file_upload(begun["id"]))
        if state["file"] is not None:
            return state["file"]
        # What arrived before an interruption begins another count.
        failures = 1 if state["offset"] > offset else failures + 1
        offset = state["offset"]
        delay = settings.retries.delay_s(error, failures, idempotent=True)
        if delay is None:
            raise error
        yield Sleep(delay)


def _passing(error: RunledgerError) -> RunledgerError:
    """Another gateway may not know yet that the connection of an earlier request broke."""
    if isinstance(error, ApiError) and error.status == STILL_WRITTEN:
        return Unavailable(str(error), status=error.status, detail=error.detail, code=error.code)
    return error


def _begin(source: Source) -> Operation[FileUpload]:
    metadata = f"filename {_base64(source.filename)},filetype {_base64(source.content_type)}"
    begun = operations.begin_file_upload(tus_resumable=TUS, upload_length=source.size, upload_metadata=metadata)
    # One that was begun twice expires.
    return replace(begun, idempotent=True)


def _rest(upload_id: str, source: Source, offset: int) -> Operation[None]:
    rest = operations.continue_file_upload(
        upload_id, b"", tus_resumable=TUS, upload_offset=offset, content_type=BODY_TYPE
    )
    return replace(rest, content=Body(source.read, offset, source.size))


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
