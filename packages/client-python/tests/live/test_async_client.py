from __future__ import annotations

import asyncio
import unittest
from typing import Any

from runledger import AsyncRunledger, FactEvent, RunFailed, operations

from .service import DEPLOYMENT, copier, marked
from .test_client import files_of


class TheAsyncClient(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = AsyncRunledger()
        self.addAsyncCleanup(self.client.aclose)

    async def test_runs_to_the_end_with_progress_and_log(self) -> None:
        shown: list[Any] = []
        lines: list[Any] = []

        async def show(progress: Any) -> None:
            await asyncio.sleep(0)
            shown.append(progress)

        run = await self.client.run(DEPLOYMENT, {"size": 64}, on_progress=show, on_log=lines.append)
        self.assertEqual(run["status"], "success")
        self.assertEqual((shown[0].status, shown[-1].status), ("queued", "success"))
        self.assertEqual([line async for line in self.client.runs.logs(run["id"], follow=True)], lines)

    async def test_raises_a_run_that_fails_and_what_a_handler_raises(self) -> None:
        with self.assertRaisesRegex(RunFailed, "no memory"):
            await self.client.run(DEPLOYMENT, {"fails": True})

        def stumble(_: Any) -> None:
            raise KeyError("stumbled")

        tag = marked("stumbled")
        with self.assertRaises(KeyError):
            await self.client.run(DEPLOYMENT, {"waits": True}, tags=[tag], on_progress=print_nothing, on_log=stumble)
        [run] = [run async for run in self.client.runs.list(tag=tag)]
        self.assertEqual((await self.client.runs.wait(run["id"]))["status"], "cancelled")

    async def test_cancels_the_run_when_the_task_is_cancelled(self) -> None:
        started = asyncio.Event()
        for handlers in ({}, {"on_progress": lambda progress: progress.status == "running" and started.set()}):
            tag = marked(f"cancelled-{len(handlers)}")
            task = asyncio.create_task(
                self.client.run(DEPLOYMENT, {"waits": True}, tags=[tag], **handlers)  # type: ignore[arg-type]
            )
            while not [run async for run in self.client.runs.list(tag=tag, status="running")]:
                await asyncio.sleep(0.1)
            if handlers:
                await asyncio.wait_for(started.wait(), 60)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            [run] = [run async for run in self.client.runs.list(tag=tag)]
            self.assertEqual((await self.client.runs.wait(run["id"]))["end_reason"], "cancelled_by_client")

    async def test_runs_at_the_same_time(self) -> None:
        runs = await asyncio.gather(*(self.client.run(DEPLOYMENT, {"size": size}) for size in (16, 32, 48)))
        self.assertEqual(len({run["id"] for run in runs}), 3)

    async def test_uploads_subscribes_and_calls(self) -> None:
        queued = await self.client.runs.queue(copier(), {"photo": b"a fox"})
        facts = [event async for event in self.client.subscribe(queued["run_id"]) if isinstance(event, FactEvent)]
        self.assertEqual(facts[-1].data["type"], "RunSucceeded")
        run = await self.client.runs.wait(queued["run_id"])
        self.assertEqual(list(files_of(run)), ["file"])
        file = await self.client.files.upload(b"a fox")
        pieces = [piece async for piece in self.client.stream(operations.get_file_content(file["id"]))]
        self.assertEqual(b"".join(pieces), b"a fox")
        names = [machine["name"] async for machine in self.client.each(operations.list_machines(limit=1))]
        self.assertIn("copier", names)


def print_nothing(_: Any) -> None:
    return None
