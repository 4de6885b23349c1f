from __future__ import annotations

import asyncio
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO
from unittest.mock import patch

import httpx

from runledger import AsyncRunledger, Runledger, RunledgerError

from .broken_service import BrokenService, Step, json_response, stream_response
from .test_drivers import END, ENDED, KEY, listed

#: More than httpx keeps open unless it is told otherwise.
MANY = 130


def held_until_all_are_there() -> Step:
    here = threading.Barrier(MANY)

    def answer(_: bytes, response: BinaryIO) -> None:
        here.wait(20)
        response.write(stream_response(END, cut=False))

    return answer


class Followers(unittest.TestCase):
    """Each holds a connection until its run has ended."""

    def service(self, *steps: bytes | Step) -> str:
        service = BrokenService(*steps)
        self.addCleanup(service.close)
        return service.url

    def test_are_as_many_as_there_are_runs(self) -> None:
        url = self.service(*[held_until_all_are_there()] * MANY)
        with Runledger(url, KEY, retries=0) as client, ThreadPoolExecutor(MANY) as pool:
            ends = list(pool.map(lambda _: list(client.subscribe("run-1")), range(MANY)))
        self.assertEqual([len(events) for events in ends], [1] * MANY)

    def test_are_as_many_in_async_code(self) -> None:
        async def followed(url: str) -> list[Any]:
            async with AsyncRunledger(url, KEY, retries=0) as client:
                return await asyncio.gather(*(listed(client.subscribe("run-1")) for _ in range(MANY)))

        ends = asyncio.run(followed(self.service(*[held_until_all_are_there()] * MANY)))
        self.assertEqual([len(events) for events in ends], [1] * MANY)

    def test_are_waited_for_when_the_pool_of_the_caller_is_small(self) -> None:
        follows = threading.Event()

        def stream(_: bytes, response: BinaryIO) -> None:
            follows.set()
            response.write(stream_response(cut=True))
            for _ in range(10):
                response.write(b"d\r\n: a comment\n\n\r\n")
                time.sleep(0.1)
            response.write(stream_response(END, cut=False).split(b"\r\n\r\n", 1)[1])

        url = self.service(stream, json_response(ENDED))
        with httpx.Client(limits=httpx.Limits(max_connections=1)) as http, ThreadPoolExecutor(1) as pool:
            client = Runledger(url, KEY, timeout=0.3, retries=0, http=http)
            following = pool.submit(lambda: list(client.subscribe("run-1")))
            follows.wait(20)
            self.assertEqual(client.runs.get("run-1"), ENDED)
            self.assertEqual(len(following.result()), 1)


class OneAsyncClient(unittest.TestCase):
    """Has connections for each event loop."""

    def made(self, *steps: bytes | Step) -> AsyncRunledger:
        service = BrokenService(*steps)
        self.addCleanup(service.close)
        return AsyncRunledger(service.url, KEY, retries=0)

    def test_is_used_in_one_loop_after_the_other(self) -> None:
        client = self.made(*[json_response(ENDED)] * 5, stream_response(END, cut=False))

        async def get() -> Any:
            return await client.runs.get("run-1")

        async def both() -> Any:
            return await asyncio.gather(get(), get())

        for _ in range(3):
            self.assertEqual(asyncio.run(get()), ENDED)
        self.assertEqual(asyncio.run(both()), [ENDED, ENDED])
        self.assertEqual(len(asyncio.run(listed(client.subscribe("run-1")))), 1)
        asyncio.run(client.aclose())
        with self.assertRaisesRegex(RunledgerError, "client is closed"):
            asyncio.run(get())

    def test_is_used_in_two_loops_at_once(self) -> None:
        here = threading.Barrier(2)

        def both_are_there(_: bytes, response: BinaryIO) -> None:
            here.wait(20)
            response.write(json_response(ENDED))

        client = self.made(*[both_are_there] * 4)

        async def twice() -> Any:
            return [await client.runs.get("run-1") for _ in range(2)]

        with ThreadPoolExecutor(2) as threads:
            gotten = list(threads.map(lambda _: asyncio.run(twice()), range(2)))
        self.assertEqual(gotten, [[ENDED, ENDED]] * 2)

    def test_is_closed_in_the_loop_of_its_connections_and_in_another(self) -> None:
        for closing in (True, False):
            client = self.made(json_response(ENDED))

            async def used(client: AsyncRunledger = client, closing: bool = closing) -> None:
                await client.runs.get("run-1")
                if closing:
                    await client.aclose()

            asyncio.run(used())
            asyncio.run(client.aclose())


class WhatCannotBeUsed(unittest.TestCase):
    """Every exception is a RunledgerError, and says what to do."""

    def test_of_the_environment_is_named(self) -> None:
        with TemporaryDirectory() as folder:
            no_pem = Path(folder, "no.pem")
            no_pem.write_text("no certificate")
            wrong = (
                ({"NO_PROXY": "[::1]", "HTTP_PROXY": "http://127.0.0.1:9"}, "localhost,::1"),
                ({"HTTPS_PROXY": "http://127.0.0.1:port"}, "http://host:port"),
                ({"HTTP_PROXY": "ftp://127.0.0.1:9"}, "http://host:port"),
                ({"ALL_PROXY": "socks5://127.0.0.1:9"}, r"pip install 'httpx\[socks\]'"),
                ({"SSL_CERT_FILE": f"{folder}/missing.pem"}, "SSL_CERT_FILE"),
                ({"SSL_CERT_FILE": str(no_pem)}, "SSL_CERT_FILE"),
            )
            for environment, advice in wrong:
                for kind in (Runledger, AsyncRunledger):
                    with self.subTest(environment=environment, kind=kind), patch.dict("os.environ", environment, clear=True):
                        with self.assertRaisesRegex(RunledgerError, advice):
                            kind("https://runs.example/api", KEY)

    def test_may_be_the_proxy(self) -> None:
        with patch.dict("os.environ", {"HTTP_PROXY": "http://127.0.0.1:9"}, clear=True):
            with Runledger("http://runledger.test/api", KEY, retries=0) as client:
                with self.assertRaisesRegex(RunledgerError, "the proxy that HTTP_PROXY names"):
                    client.runs.get("run-1")

    def test_is_a_client_of_the_caller_in_another_event_loop(self) -> None:
        service = BrokenService(*[json_response(ENDED)] * 2)
        self.addCleanup(service.close)
        client = AsyncRunledger(service.url, KEY, http=httpx.AsyncClient())

        async def get() -> Any:
            return await client.runs.get("run-1")

        self.assertEqual(asyncio.run(get()), ENDED)
        with self.assertRaisesRegex(RunledgerError, "http=.*within each asyncio.run"):
            asyncio.run(get())

    def test_is_a_client_that_is_closed(self) -> None:
        client = Runledger("http://127.0.0.1:9/api", KEY)
        client.close()
        with self.assertRaisesRegex(RunledgerError, "client is closed"):
            client.runs.get("run-1")

        async def closed() -> None:
            client = AsyncRunledger("http://127.0.0.1:9/api", KEY)
            await client.aclose()
            await client.aclose()
            with self.assertRaisesRegex(RunledgerError, "client is closed"):
                await client.runs.get("run-1")

        asyncio.run(closed())

    def test_is_a_key_beyond_ascii(self) -> None:
        with Runledger("http://127.0.0.1:9/api", KEY) as client:
            with self.assertRaisesRegex(RunledgerError, "beyond ASCII"):
                client.runs.queue("dep-1", idempotency_key="\u00fc")
