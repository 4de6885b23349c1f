from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import time
import unittest
from collections.abc import Callable, Coroutine
from typing import Any, BinaryIO
from unittest.mock import patch

from runledger import AsyncRunledger, ConnectionFailed, Runledger, RunledgerError, Unavailable
from runledger._core import retries
from runledger._io import async_driver, sync_driver

from .broken_service import BrokenService, Step, json_response, stream_response

KEY = "rl_test"
ENDED = {"id": "run-1", "finished": True, "status": "success", "error": None}
FACT = b'id: 3\nevent: fact\ndata: {"finished": false, "n": 1}\n\n'
END = b'id: 4\nevent: fact\ndata: {"finished": true, "n": 2}\n\n'
BUSY = json_response({"detail": "not now", "code": "log_unavailable"}, "503 Busy", "retry-after: 0")


def hang(_: bytes, __: BinaryIO) -> None:
    time.sleep(1.5)


#: What a client does in blocking code, and the same in `async` code.
Both = tuple[Callable[[Runledger], Any], Callable[[AsyncRunledger], Coroutine[Any, Any, Any]]]


async def listed(items: Any) -> list[Any]:
    return [item async for item in items]


GET: Both = (lambda client: client.runs.get("run-1"), lambda client: client.runs.get("run-1"))
QUEUE: Both = (lambda client: client.runs.queue("dep-1"), lambda client: client.runs.queue("dep-1"))
SUBSCRIBE: Both = (
    lambda client: list(client.subscribe("run-1")),
    lambda client: listed(client.subscribe("run-1")),
)


@patch.object(retries, "FIRST_DELAY_S", 0.01)
class ADriver(unittest.TestCase):
    """Every fact holds for both clients."""

    def each(self, both: Both, *steps: bytes | Step, **options: Any) -> list[tuple[Any, BrokenService]]:
        """What both clients get from a service that takes these steps: a result, or the exception."""
        return [self.one(call, steps, options) for call in (self.blocking(both[0]), self.awaiting(both[1]))]

    def one(self, call: Any, steps: Any, options: Any) -> tuple[Any, BrokenService]:
        service = BrokenService(*steps)
        self.addCleanup(service.close)
        try:
            return call({"url": service.url, "api_key": KEY, "timeout": 1, "retries": 2, **options}), service
        except RunledgerError as error:
            return error, service

    def blocking(self, call: Any) -> Any:
        def made(options: Any) -> Any:
            with Runledger(**options) as client:
                return call(client)

        return made

    def awaiting(self, call: Any) -> Any:
        async def made(options: Any) -> Any:
            async with AsyncRunledger(**options) as client:
                return await call(client)

        return lambda options: asyncio.run(made(options))

    def test_sends_again_what_lost_its_connection(self) -> None:
        half = json_response(ENDED)[:-9]
        for result, service in self.each(GET, b"", half, json_response(ENDED)):
            self.assertEqual(result, ENDED)
            self.assertEqual(service.lines(), ["GET /api/run/run-1"] * 3)

    def test_sends_a_queued_run_again_with_one_key(self) -> None:
        for result, service in self.each(QUEUE, b"", BUSY, json_response({"run_id": "run-1"})):
            self.assertEqual(result, {"run_id": "run-1"})
            keys = {line for each in service.requests for line in each.split(b"\r\n") if b"idempotency" in line}
            self.assertEqual((len(service.requests), len(keys)), (3, 1))

    def test_gives_up(self) -> None:
        for error, _ in self.each(GET, BUSY, BUSY, BUSY):
            self.assertIsInstance(error, Unavailable)
            self.assertEqual((error.code, error.retry_after), ("log_unavailable", 0))
        for error, _ in self.each(GET, hang, timeout=0.2, retries=0):
            self.assertIsInstance(error, ConnectionFailed)
            self.assertTrue(error.sent)

    def test_says_where_nobody_listens(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}/api"
        for error, _ in self.each(GET, url=url):
            self.assertIsInstance(error, ConnectionFailed)
            self.assertFalse(error.sent)
            self.assertIn("Is the service running", str(error))
            self.assertNotIn(KEY, repr(error))

    def test_continues_a_stream_that_was_cut(self) -> None:
        frames = stream_response(FACT[:20], FACT[20:], cut=True), stream_response(END, cut=False)
        for events, service in self.each(SUBSCRIBE, *frames):
            self.assertEqual([event.data["n"] for event in events], [1, 2])
            self.assertIn(b"last-event-id: 3\r\n", service.requests[1].lower())

    def test_bounds_what_it_reads(self) -> None:
        with patch.object(sync_driver, "MAX_RESPONSE_BYTES", 10), patch.object(async_driver, "MAX_RESPONSE_BYTES", 10):
            for error, service in self.each(GET, json_response(ENDED)):
                self.assertIn("more than", str(error))
                self.assertEqual(len(service.requests), 1)

    def test_sends_a_file_in_pieces_with_its_length(self) -> None:
        content = os.urandom(1_000_000)
        upload: Both = (lambda client: client.files.upload(content), lambda client: client.files.upload(content))
        for result, service in self.each(upload, b"", json_response({"id": "file-1"}, "201 Created")):
            self.assertEqual(result, {"id": "file-1"})
            for request in service.requests:
                head, body = request.split(b"\r\n\r\n", 1)
                self.assertNotIn(b"transfer-encoding", head.lower())
                self.assertEqual(hashlib.sha256(body).digest(), hashlib.sha256(content).digest())

    def test_raises_what_a_handler_of_two_raises(self) -> None:
        def stumble(_: Any) -> None:
            raise KeyError("stumbled")

        watch: Both = tuple(
            lambda client: client.run("dep-1", on_progress=stumble, on_log=stumble) for _ in range(2)
        )  # type: ignore[assignment]
        progress = b'id: 3\nevent: fact\ndata: {"finished": false, "status": "queued", "progress": 0, "live_status": null, "attempt": 0}\n\n'

        def answer(request: bytes, response: BinaryIO) -> None:
            if b"/events" in request:
                response.write(stream_response(progress, cut=False))
            elif b"/cancel" in request:
                response.write(json_response({"run_id": "run-1"}))
            elif b"/queue" in request:
                response.write(json_response({"run_id": "run-1"}))
            else:
                time.sleep(0.3)

        for call in (self.blocking(watch[0]), self.awaiting(watch[1])):
            service = BrokenService(*[answer] * 9)
            self.addCleanup(service.close)
            with self.assertRaises(KeyError):
                call({"url": service.url, "api_key": KEY, "timeout": 1, "retries": 0})
            self.assertIn("POST /api/run/run-1/cancel", service.lines())


class AConnection(unittest.TestCase):
    def test_is_closed_when_the_caller_stops_reading(self) -> None:
        closed: list[bool] = []

        def stream(_: bytes, response: BinaryIO) -> None:
            response.write(stream_response(FACT, cut=True))
            try:
                for _ in range(50):
                    response.write(b"c\r\n: a comment\r\n\r\n")
                    time.sleep(0.05)
            except OSError:
                closed.append(True)

        service = BrokenService(stream)
        self.addCleanup(service.close)
        with Runledger(service.url, KEY) as client:
            for event in client.subscribe("run-1"):
                break
            for _ in range(60):
                if closed:
                    break
                time.sleep(0.05)
        self.assertEqual((event.event, closed), ("fact", [True]))
