from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any

import httpx

from runledger import Runledger, operations

EXAMPLES = Path(__file__).parents[2] / "examples"
DEPLOYMENT = os.environ["RUNLEDGER_TEST_DEPLOYMENT"]


class TheScript(unittest.TestCase):
    def run_script(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(EXAMPLES / "script.py"), DEPLOYMENT, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def test_prints_the_progress_and_the_outputs_of_a_run(self) -> None:
        done = self.run_script("size=64", "palette=ember")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertTrue([line for line in lines if line.startswith("queued ")])
        self.assertIn("  a line of the log", lines)
        self.assertEqual(lines[-1], "done")

    def test_says_why_a_run_failed(self) -> None:
        failed = self.run_script("fails=true")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("no memory", failed.stderr)


class TheService(unittest.TestCase):
    def setUp(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        with Runledger() as client:
            secret = client.call(operations.get_webhook_secret())["secret"]
        command = [sys.executable, "-m", "uvicorn", "fastapi_app:app", f"--port={port}", "--log-level=warning"]
        own = {"DEPLOYMENT": DEPLOYMENT, "PUBLIC_URL": url, "RUNLEDGER_WEBHOOK_SECRET": secret}
        server = subprocess.Popen(command, cwd=EXAMPLES, env={**os.environ, **own, "PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.user = httpx.Client(base_url=url, timeout=30)
        self.addCleanup(self.user.close)
        self.until(lambda: httpx.get(f"{url}/pictures/none").is_success)

    def until(self, holds: Any) -> None:
        for _ in range(300):
            try:
                if holds():
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        self.fail("It did not come.")

    def test_queues_streams_and_takes_notifications(self) -> None:
        queued = self.user.post("/pictures", json={"size": 64}).json()
        stream = self.user.get(f"/pictures/{queued['id']}/progress").text
        self.assertTrue(stream.endswith('data: {"progress": 1, "step": null}\n\n'))
        self.until(lambda: self.user.get(f"/pictures/{queued['id']}").json() == {"status": "success"})
        forged = self.user.post("/runledger", content=b"{}", headers={"webhook-id": "msg_1"})
        self.assertEqual(forged.status_code, 400)
        self.assertEqual(self.user.post("/pictures", json={"size": {}}).status_code, 422)
