from __future__ import annotations

import base64
import io
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest.mock import patch

from runledger import ApiError, ConnectionFailed, File, RunledgerError
from runledger._core import uploads
from runledger._core.uploads import upload, with_uploaded_files

from .scripted import LOST, SETTINGS, Script, answer, body_of

FILE = answer({"id": "file-1"}, 201)


def state(offset: int, file: object = None) -> Any:
    return answer({"id": "up-1", "offset": offset, "file": file})


class AFile(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_may_be_bytes_a_path_or_a_file_object(self) -> None:
        path = self.folder / "a fox.png"
        path.write_bytes(b"a fox")
        read = io.BytesIO(b"not a fox")
        read.seek(4)
        sources: list[tuple[Any, str, str]] = [
            (b"a fox", "file", "application/octet-stream"),
            (bytearray(b"a fox"), "file", "application/octet-stream"),
            (path, "a%20fox.png", "image/png"),
            (read, "file", "application/octet-stream"),
            (File(b"a fox", filename="fox.gif"), "fox.gif", "image/gif"),
            (File(path, filename="fox.bin", content_type="image/x-fox"), "fox.bin", "image/x-fox"),
        ]
        with open(path, "rb") as opened:
            for source, name, content_type in [*sources, (opened, "a%20fox.png", "image/png")]:
                script = Script(LOST, FILE)
                self.assertEqual(script.play(upload(SETTINGS, source)), {"id": "file-1"})
                self.assertEqual(script.sent(), [f"POST /files?filename={name}"] * 2)
                for request in script.requests:
                    self.assertEqual(request.headers["content-type"], content_type)

    def test_is_sent_as_it_is(self) -> None:
        def read(script: Script) -> Any:
            self.assertEqual(body_of(script.requests[-1]), b"a fox")
            return FILE

        Script(read).play(upload(SETTINGS, b"a fox"))

    def test_that_cannot_be_read_is_no_request(self) -> None:
        os.mkfifo(self.folder / "pipe")
        (self.folder / "text").write_text("text")
        text = open(self.folder / "text")
        reading, writing = os.pipe()
        pipe = open(reading, "rb")
        for opened in (text, pipe):
            self.addCleanup(opened.close)
        self.addCleanup(os.close, writing)
        for source, why in (
            (self.folder / "none.png", "cannot be read: No such file"),
            (self.folder, "not a regular file"),
            (self.folder / "pipe", "not a regular file"),
            (text, "mode 'rb'"),
            (pipe, "give its bytes or its path"),
        ):
            with self.assertRaisesRegex(RunledgerError, why):
                Script().play(upload(SETTINGS, source))  # type: ignore[arg-type]

    def test_takes_the_place_of_inputs_at_any_depth(self) -> None:
        script = Script(FILE, answer({"id": "file-2"}, 201))
        inputs = {"photo": b"a fox", "others": [1, {"mask": b"a mask"}], "path": "/etc/passwd", "size": 512}
        self.assertEqual(
            script.play(with_uploaded_files(SETTINGS, inputs)),
            {"photo": "file-1", "others": [1, {"mask": "file-2"}], "path": "/etc/passwd", "size": 512},
        )


@patch.object(uploads, "LARGEST_AT_ONCE", 4)
class ALargeFile(unittest.TestCase):
    def test_is_uploaded_resumably(self) -> None:
        script = Script(
            answer({"id": "up-1", "offset": 0}, 201),
            lambda script: self.assertEqual(body_of(script.requests[-1]), b"a large fox") or answer(None, 204),
            state(11, {"id": "file-1"}),
        )
        source = File(b"a large fox", filename="fox.png")
        self.assertEqual(script.play(upload(SETTINGS, source)), {"id": "file-1"})
        begin, patch_, _ = script.requests
        self.assertEqual(begin.headers["upload-length"], "11")
        name, kind = (base64.b64encode(text).decode() for text in (b"fox.png", b"image/png"))
        self.assertEqual(begin.headers["upload-metadata"], f"filename {name},filetype {kind}")
        self.assertEqual(patch_.headers["content-type"], "application/offset+octet-stream")
        self.assertEqual(script.sent()[1:], ["PATCH /files/uploads/up-1", "GET /files/uploads/up-1"])

    def test_continues_where_the_connection_broke(self) -> None:
        still_written = answer({"detail": "another request sends bytes"}, 409)
        script = Script(
            answer({"id": "up-1", "offset": 0}, 201),
            LOST,
            state(2),
            still_written,
            state(2),
            lambda script: self.assertEqual(body_of(script.requests[-1]), b"large fox") or LOST,
            state(11),
            state(11, {"id": "file-1"}),
        )
        self.assertEqual(script.play(upload(SETTINGS, b"a large fox")), {"id": "file-1"})
        offsets = [each.headers.get("upload-offset") for each in script.requests if each.method == "PATCH"]
        self.assertEqual(offsets, ["0", "2", "2"])
        # What arrived begins another count.
        self.assertEqual(script.slept, [0.5, 1.0, 0.5])

    def test_gives_up_when_nothing_arrives_any_more(self) -> None:
        tries = [each for _ in range(4) for each in (LOST, state(0))]
        with self.assertRaises(ConnectionFailed):
            Script(answer({"id": "up-1", "offset": 0}, 201), *tries).play(upload(SETTINGS, b"a large fox"))

    def test_ends_with_a_refusal(self) -> None:
        full = answer({"detail": "The store is full"}, 507)
        with self.assertRaises(ApiError) as caught:
            Script(answer({"id": "up-1", "offset": 0}, 201), full, state(0)).play(upload(SETTINGS, b"a large fox"))
        self.assertEqual(caught.exception.status, 507)
