from __future__ import annotations

import inspect
import unittest
from typing import Any, get_type_hints

from runledger import ApiError, ConnectionFailed, RunFailed, models, operations
from runledger._core.runs import named, queue, rerun, run_to_end, wait
from runledger.options import RunFilter, RunOptions

from .scripted import LOST, SETTINGS, Script, answer, body_of
from .test_streams import END, fact

QUEUED = answer({"run_id": "run-1"})
ENDED = answer({"id": "run-1", "finished": True, "status": "success"})
RUNNING = answer({"id": "run-1", "finished": False, "status": "running"})
REQUEST = {"deployment_id": "dep-1", "inputs": {"size": 64}, "tags": ["nightly"]}
CANCELLED = answer({"run_id": "run-1", "outcome": "cancelled"})


class Interrupted(BaseException):
    """As Ctrl-C, or the cancellation of a task."""


def run(script: Script, on_progress: Any = None, on_log: Any = None) -> Any:
    return script.play(run_to_end(SETTINGS, REQUEST, "key-1", on_progress, on_log))


class Queueing(unittest.TestCase):
    def test_sends_the_same_key_with_each_repetition(self) -> None:
        script = Script(LOST, answer({"detail": "…"}, 503), QUEUED)
        self.assertEqual(script.play(queue(SETTINGS, REQUEST, "key-1")), {"run_id": "run-1"})
        self.assertEqual(script.sent(), ["POST /run/deployment/queue"] * 3)
        for request in script.requests:
            self.assertEqual((request.headers["idempotency-key"], body_of(request)), ("key-1", REQUEST))

    def test_again_keeps_the_inputs_unless_others_are_given(self) -> None:
        for inputs, body in ((None, {}), ({"size": 128}, {"inputs": {"size": 128}})):
            script = Script(LOST, QUEUED)
            script.play(rerun(SETTINGS, "run-1", inputs, "key-1"))
            self.assertEqual(script.sent(), ["POST /run/run-1/rerun"] * 2)
            self.assertEqual(body_of(script.requests[1]), body)


class TheDeployment(unittest.TestCase):
    def test_is_named_by_its_id_or_by_its_name(self) -> None:
        number = "01940000-0000-7000-8000-0000000000D1"
        self.assertEqual(named(number), {"deployment_id": number})
        for name in ("portrait", "portrait@12", number + "@2", "", number + "\n"):
            self.assertEqual(named(name), {"deployment": name})


class Waiting(unittest.TestCase):
    def test_lasts_until_the_run_has_ended(self) -> None:
        def later(script: Script) -> Any:
            script.time += 30
            return RUNNING

        script = Script(later, LOST, later, ENDED)
        self.assertEqual(script.play(wait(SETTINGS, "run-1", None))["status"], "success")
        self.assertEqual(set(script.sent()), {"GET /run/run-1?wait=30.0"})
        # The service may take that long to answer.
        self.assertEqual(script.requests[0].timeout_s, 60)

    def test_does_not_ask_in_a_loop_when_the_service_answers_at_once(self) -> None:
        script = Script(RUNNING, RUNNING, ENDED)
        script.play(wait(SETTINGS, "run-1", None))
        self.assertEqual(script.slept, [0.5, 0.5])

    def test_ends_after_the_given_time(self) -> None:
        def later(script: Script) -> Any:
            script.time += 1.5
            return RUNNING

        script = Script(later)
        with self.assertRaisesRegex(TimeoutError, "it goes on"):
            script.play(wait(SETTINGS, "run-1", 1.5))
        self.assertEqual(script.sent(), ["GET /run/run-1?wait=1.5"])


class ARunToItsEnd(unittest.TestCase):
    def test_is_the_run_that_ended(self) -> None:
        script = Script(QUEUED, ENDED)
        self.assertEqual(run(script)["id"], "run-1")
        self.assertEqual(script.sent(), ["POST /run/deployment/queue", "GET /run/run-1?wait=30.0"])

    def test_that_ends_otherwise_raises_it(self) -> None:
        failed = {"id": "run-1", "finished": True, "status": "failed", "error": {"message": "no memory"}}
        with self.assertRaises(RunFailed) as caught:
            run(Script(QUEUED, answer(failed)))
        self.assertEqual(caught.exception.run["error"], {"message": "no memory"})
        self.assertEqual(str(caught.exception), "Run run-1 ended as failed: no memory")

    def test_shows_its_progress_and_its_log(self) -> None:
        shown: list[Any] = []
        line = b'id: 1-1\nevent: line\ndata: {"line": "a fox"}\n\nevent: end\ndata: {}\n\n'
        script = Script(QUEUED, [fact(1, "queued"), END], [line], ENDED)
        run(script, lambda progress: shown.append(progress.status), lambda item: shown.append(item["line"]))
        self.assertEqual(shown, ["queued", "success", "a fox"])

    def test_is_cancelled_when_the_caller_is_interrupted(self) -> None:
        script = Script(QUEUED, Interrupted(), CANCELLED)
        with self.assertRaises(Interrupted):
            run(script)
        self.assertEqual(script.sent()[-1], "POST /run/run-1/cancel")

    def test_is_cancelled_when_a_handler_raises(self) -> None:
        def stumble(_: Any) -> None:
            raise KeyError("stumbled")

        script = Script(QUEUED, [fact(1, "queued"), END], LOST, CANCELLED)
        with self.assertRaises(KeyError):
            run(script, stumble)
        self.assertEqual(script.sent()[-2:], ["POST /run/run-1/cancel"] * 2)

    def test_is_found_by_its_key_when_the_caller_is_interrupted_before_its_id_is_known(self) -> None:
        script = Script(Interrupted(), QUEUED, CANCELLED)
        with self.assertRaises(Interrupted):
            run(script)
        self.assertEqual(script.sent()[1:], ["POST /run/deployment/queue", "POST /run/run-1/cancel"])
        self.assertEqual(script.requests[1].headers["idempotency-key"], "key-1")

    def test_that_cannot_be_cancelled_leaves_the_interruption_as_it_is(self) -> None:
        with self.assertRaises(Interrupted):
            run(Script(QUEUED, Interrupted(), LOST, LOST))

    def test_goes_on_when_only_the_service_cannot_be_reached(self) -> None:
        script = Script(QUEUED, LOST, LOST, LOST, LOST)
        with self.assertRaises(ConnectionFailed):
            run(script)
        self.assertNotIn("POST /run/run-1/cancel", script.sent())

    def test_that_is_refused_is_not_cancelled(self) -> None:
        script = Script(answer({"detail": "…"}, 403))
        with self.assertRaises(ApiError):
            run(script)
        self.assertEqual(len(script.requests), 1)


class TheOptions(unittest.TestCase):
    def test_of_a_run_are_the_members_of_its_request(self) -> None:
        members = set(get_type_hints(models.DeploymentRunRequest)) - {"deployment_id", "deployment", "inputs"}
        self.assertEqual(set(RunOptions.__annotations__), members)

    def test_of_a_list_are_the_parameters_of_its_operation(self) -> None:
        parameters = set(inspect.signature(operations.list_runs).parameters)
        self.assertEqual(set(RunFilter.__annotations__), parameters)
