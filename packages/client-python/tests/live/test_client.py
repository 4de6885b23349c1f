from __future__ import annotations

import inspect
import os
import signal
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any
from unittest.mock import patch

import httpx

from runledger import (
    ApiError,
    FactEvent,
    File,
    NotFound,
    RunFailed,
    Runledger,
    ValidationError,
    WebhookInvalid,
    models,
    operations,
    verify_webhook,
)
from runledger._core import uploads
from runledger._core.operation import Operation, Pages

from .service import DEPLOYMENT, copier, marked

NOBODY = "01920000-0000-7000-8000-00000000000b"


def files_of(run: models.WorkflowRun) -> dict[str, str]:
    """The URLs of output files by their names."""
    items = [item for output in run["outputs"] for kind in output["data"].values() for item in kind]
    return {item["filename"]: item["url"] for item in items if not isinstance(item, str)}


class TheClient(unittest.TestCase):
    client: Runledger

    @classmethod
    def setUpClass(cls) -> None:
        cls.client = Runledger()
        cls.addClassCleanup(cls.client.close)

    def test_runs_to_the_end_with_progress_and_log(self) -> None:
        shown: list[Any] = []
        lines: list[Any] = []
        run = self.client.run(
            DEPLOYMENT, {"size": 64}, tags=["python"], on_progress=shown.append, on_log=lines.append
        )
        self.assertEqual((run["status"], run["tags"]), ("success", ["python"]))
        self.assertEqual((shown[0].status, shown[-1].status, shown[-1].progress), ("queued", "success", 1))
        self.assertEqual([line["line"] for line in lines if "line" in line], ["a line of the log"])
        self.assertEqual(list(self.client.runs.logs(run["id"])), lines)
        self.assertEqual(self.client.runs.get(run["id"])["workflow_inputs"], None)
        self.assertEqual(self.client.runs.get(run["id"], include="inputs")["workflow_inputs"]["size"], 64)

    def test_raises_a_run_that_fails(self) -> None:
        with self.assertRaisesRegex(RunFailed, "no memory") as caught:
            self.client.run(DEPLOYMENT, {"fails": True})
        error = caught.exception.run["error"]
        assert error is not None
        self.assertEqual((error["kind"], error.get("exit_code")), ("program_exit", 3))

    def test_uploads_files_of_inputs(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a fox.png"
            path.write_bytes(os.urandom(3_000_000))
            for file in (path, File(path, filename="large.png")):
                most = 1_000_000 if isinstance(file, File) else 16_000_000
                with patch.object(uploads, "LARGEST_AT_ONCE", most):
                    run = self.client.run(copier(), {"photo": file})
                [(name, url)] = files_of(run).items()
                self.assertEqual(name, "large.png" if isinstance(file, File) else "a fox.png")
                self.assertEqual(httpx.get(url).content, path.read_bytes())
            uploaded = self.client.files.upload(path)
            content = b"".join(self.client.stream(operations.get_file_content(uploaded["id"])))
            self.assertEqual(content, path.read_bytes())

    def test_queues_once_waits_runs_again_and_lists(self) -> None:
        tag = marked("listed")
        first, again = (
            self.client.runs.queue(DEPLOYMENT, {"size": 32}, tags=[tag], idempotency_key=marked("python"))
            for _ in range(2)
        )
        self.assertEqual(first, again)
        self.assertEqual(self.client.runs.wait(first["run_id"])["status"], "success")
        other = self.client.runs.rerun(first["run_id"], {"size": 16})
        self.assertEqual(self.client.runs.wait(other["run_id"])["rerun_of"], first["run_id"])
        listed = [run["id"] for run in self.client.runs.list(tag=tag, status=["success", "failed"], limit=1)]
        self.assertEqual(listed, [other["run_id"], first["run_id"]])

    def test_subscribes_from_the_first_fact_or_behind_one(self) -> None:
        run_id = self.client.runs.queue(DEPLOYMENT)["run_id"]
        facts = [event for event in self.client.subscribe(run_id) if isinstance(event, FactEvent)]
        self.assertEqual((facts[0].data["type"], facts[-1].data["type"]), ("RunQueued", "RunSucceeded"))
        behind = [event for event in self.client.subscribe(run_id, after=facts[1].id)]
        self.assertEqual(behind, facts[2:])
        self.assertEqual(list(self.client.subscribe(run_id, after=facts[-1].id)), [])
        for _ in self.client.subscribe(run_id):
            # The stream ends with the iteration.
            break

    def test_cancels_a_run_that_executes(self) -> None:
        run_id = self.client.runs.queue(DEPLOYMENT, {"waits": True})["run_id"]
        with self.assertRaises(TimeoutError):
            self.client.runs.wait(run_id, timeout=0.5)
        self.client.runs.cancel(run_id)
        self.assertEqual(self.client.runs.wait(run_id)["status"], "cancelled")

    def test_cancels_the_run_on_ctrl_c(self) -> None:
        for shows_log in (False, True):
            tag = marked(f"interrupted-{shows_log}")

            def interrupt_later(_: Any) -> None:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

            with self.assertRaises(KeyboardInterrupt):
                self.client.run(
                    DEPLOYMENT,
                    {"waits": True},
                    tags=[tag],
                    on_progress=None if shows_log else interrupt_once(interrupt_later),
                    on_log=interrupt_once(interrupt_later) if shows_log else None,
                )
            [run] = self.client.runs.list(tag=tag)
            self.assertEqual(self.client.runs.wait(run["id"])["end_reason"], "cancelled_by_client")

    def test_names_its_deployment(self) -> None:
        deployment = self.client.call(operations.get_deployment(DEPLOYMENT))
        for named in (deployment["name"], deployment["name"] + "@1"):
            run = self.client.run(named, {"size": 16})
            self.assertEqual(run["workflow_version_id"], deployment["workflow_version_id"])

    def test_raises_what_the_service_refuses(self) -> None:
        with self.assertRaises(NotFound) as missing:
            self.client.runs.get(NOBODY)
        self.assertIsNotNone(missing.exception.request_id)
        with self.assertRaises(ValidationError) as invalid:
            self.client.runs.queue("", {"size": [None]}, priority=1_000)
        places = [problem["loc"] for problem in invalid.exception.problems]
        self.assertEqual(places, [["body", "deployment"], ["body", "priority"]])
        with Runledger(api_key="rl_unknown") as other, self.assertRaises(ApiError) as unknown:
            other.runs.get(NOBODY)
        self.assertEqual(unknown.exception.status, 401)

    def test_has_a_function_for_each_operation(self) -> None:
        for name, function in inspect.getmembers(operations, inspect.isfunction):
            needed = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
            if function.__module__ != operations.__name__ or needed:
                continue
            with self.subTest(name):
                operation = function()
                if isinstance(operation, Operation) and operation.method == "GET":
                    self.assertIsInstance(self.client.call(operation), dict)
                if isinstance(operation, Pages):
                    self.assertIsInstance(list(self.client.each(operation)), list)


def interrupt_once(interrupt: Any) -> Any:
    seen: list[Any] = []

    def handle(value: Any) -> None:
        if getattr(value, "status", "running") == "running" and not seen:
            seen.append(value)
            interrupt(value)

    return handle


class ANotification(unittest.TestCase):
    def test_of_the_service_is_verified_with_its_secret(self) -> None:
        received: Queue[tuple[bytes, dict[str, str]]] = Queue()

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                received.put((self.rfile.read(int(self.headers["content-length"])), dict(self.headers)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return None

        with HTTPServer(("127.0.0.1", 0), Receiver) as server, Runledger() as client:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            run = client.run(DEPLOYMENT, webhook=f"http://127.0.0.1:{server.server_port}/hook")
            body, headers = received.get(timeout=30)
            server.shutdown()
            secret = client.call(operations.get_webhook_secret())["secret"]
        notification = verify_webhook(body, headers, secret)
        self.assertEqual((notification["run_id"], notification["status"]), (run["id"], "success"))
        with self.assertRaises(WebhookInvalid):
            verify_webhook(body + b" ", headers, secret)
