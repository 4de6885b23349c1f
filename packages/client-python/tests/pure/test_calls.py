from __future__ import annotations

import json
import unittest
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from runledger import (
    ApiError,
    ConnectionFailed,
    NotFound,
    RateLimited,
    RunledgerError,
    Unavailable,
    ValidationError,
    operations,
)
from runledger._core import runs
from runledger._core.calls import call, each
from runledger._core.effects import Response
from runledger._core.operation import Operation

from .scripted import LOST, SETTINGS, Script, answer, body_of

#: Next to the client in TypeScript, which has the same.
FOREIGN_ANSWERS = Path(__file__).parents[3] / "client" / "test" / "fixtures" / "foreign-answers.json"
RUN = "run-1"
GET = operations.get_run(RUN)
POST = operations.create_machine({"name": "box", "gpu": "A100"})  # type: ignore[typeddict-item]
BUSY = answer({"detail": "The log cannot be reached"}, 503, retry_after="2")


class ARequest(unittest.TestCase):
    def test_has_the_key_and_its_parameters_encoded(self) -> None:
        script = Script(answer({"id": RUN}))
        script.play(call(SETTINGS, operations.get_run("a/b ?", include=["inputs", "workflow_api"], wait=1.5)))
        [request] = script.requests
        self.assertEqual(script.sent(), ["GET /run/a%2Fb%20%3F?include=inputs&include=workflow_api&wait=1.5"])
        self.assertEqual(request.headers["authorization"], "Bearer rl_key")
        self.assertIsNone(request.content)

    def test_shows_its_key_to_nobody(self) -> None:
        script = Script(answer({}))
        script.play(call(SETTINGS, GET))
        self.assertNotIn("rl_key", repr(script.requests) + repr(SETTINGS))

    def test_has_times_with_their_offset(self) -> None:
        script = Script(answer({"runs": [], "next_cursor": None}))
        script.play(each(SETTINGS, operations.list_runs(at=datetime(2026, 1, 31, tzinfo=timezone.utc))))
        self.assertEqual(script.sent(), ["GET /runs?at=2026-01-31T00%3A00%3A00%2B00%3A00"])

    def test_that_json_cannot_express_is_not_sent(self) -> None:
        script = Script()
        for value in (float("nan"), object(), b"bytes"):
            with self.assertRaisesRegex(RunledgerError, "cannot be written as JSON"):
                script.play(call(SETTINGS, operations.create_machine({"name": value})))  # type: ignore[typeddict-item]
        self.assertEqual(script.requests, [])


class ARefusal(unittest.TestCase):
    def refused(self, response: Response) -> ApiError:
        with self.assertRaises(ApiError) as caught:
            # Repeated as often as its kind allows.
            Script(*[response] * 4).play(call(SETTINGS, GET))
        return caught.exception

    def test_is_an_error_of_its_kind(self) -> None:
        kinds = {400: ApiError, 401: ApiError, 404: NotFound, 409: ApiError, 429: RateLimited, 500: ApiError}
        kinds |= dict.fromkeys((502, 503, 504), Unavailable)
        for status, kind in kinds.items():
            error = self.refused(answer({"detail": "so it is"}, status))
            self.assertIs(type(error), kind)
            self.assertEqual((error.status, error.detail, error.code), (status, "so it is", None))
            self.assertEqual(str(error), f"GET /api/run/run-1 was refused with {status}: so it is")

    def test_has_its_code_and_the_id_of_the_request(self) -> None:
        named = {"detail": "Run not found", "code": "run_not_found", "request_id": "req-1"}
        error = self.refused(answer(named, 404, x_request_id="other"))
        self.assertEqual((error.code, error.request_id), ("run_not_found", "req-1"))
        self.assertIn("(request req-1)", str(error))
        self.assertEqual(self.refused(answer({"detail": "…"}, 404, x_request_id="req-2")).request_id, "req-2")

    def test_of_a_request_that_does_not_fit_lists_all_problems(self) -> None:
        problems = [
            {"loc": ["body", "inputs", "size"], "msg": "Input should be a number", "type": "number_type"},
            {"loc": ["query", "limit"], "msg": "Input should be greater", "type": "greater_than"},
        ]
        error = self.refused(answer({"detail": problems}, 422))
        assert isinstance(error, ValidationError)
        self.assertEqual(error.problems, problems)
        self.assertEqual(
            error.detail, "body.inputs.size: Input should be a number\nquery.limit: Input should be greater"
        )


class AnAnswerThatIsNotOurs(unittest.TestCase):
    """The client in TypeScript has the same table."""

    def test_says_what_it_means_and_is_asked_for_again_only_where_that_is_safe(self) -> None:
        for case in json.loads(FOREIGN_ANSWERS.read_text()):
            with self.subTest(case["what"]):
                response = Response(case["status"], case["headers"], case["body"].encode())
                reading = Script(response, answer({"id": RUN}))
                queueing = Script(response, answer({"run_id": RUN}))
                keyed = operations.queue_run({"deployment_id": "d1"}, idempotency_key="key")
                if case["isSentAgain"]:
                    self.assertEqual(reading.play(call(SETTINGS, GET)), {"id": RUN})
                    self.assertEqual(queueing.play(call(SETTINGS, keyed)), {"run_id": RUN})
                else:
                    self.raised(case, reading, GET)
                    # Another path, and so another sentence of a redirect.
                    self.raised({**case, "says": ""}, queueing, keyed)
                self.raised(case, Script(*[response] * 4), GET)
                changing = Script(response, answer({}))
                self.raised({**case, "says": ""}, changing, POST)
                self.assertEqual(len(changing.requests), 1)

    def raised(self, case: dict[str, Any], script: Script, operation: Operation[Any]) -> None:
        with self.assertRaises(RunledgerError) as caught:
            script.play(call(SETTINGS, operation))
        self.assertEqual(type(caught.exception).__name__, case["error"])
        says = case["says"].replace("{origin}", "http://api.test")
        self.assertIn(says, str(caught.exception))
        self.assertIn(says, getattr(caught.exception, "detail", says))

    def test_may_be_json_of_another_server(self) -> None:
        for flow in (
            runs.queue(SETTINGS, {"deployment_id": "d1"}, "key"),
            runs.rerun(SETTINGS, RUN, None, "key"),
            runs.get(SETTINGS, GET),
            runs.wait(SETTINGS, RUN, None),
            each(SETTINGS, operations.list_runs()),
            runs.queue(SETTINGS, {"deployment_id": "d1", "inputs": {"photo": b"x"}}, "key"),
        ):
            with self.assertRaisesRegex(RunledgerError, r"^The answer has no \w+, so it is not Runledger's: .*no session"):
                Script(answer({"error": "no session"})).play(flow)

    def test_may_be_hard_to_read(self) -> None:
        for body in (b"[" * 100_000, b"\xff\xfe"):
            self.raised({"error": "Unavailable", "says": "no valid answer"}, Script(*[Response(502, {}, body)] * 4), GET)


class ARetry(unittest.TestCase):
    def test_of_a_read_follows_what_may_pass(self) -> None:
        script = Script(LOST, answer({"detail": "…"}, 502), answer({"detail": "…"}, 504), answer({"id": RUN}))
        self.assertEqual(script.play(call(SETTINGS, GET)), {"id": RUN})
        self.assertEqual(script.slept, [0.5, 1.0, 2.0])

    def test_waits_as_long_as_the_service_says(self) -> None:
        script = Script(BUSY, answer({"id": RUN}))
        script.play(call(SETTINGS, GET))
        self.assertEqual(script.slept, [2.5])

    def test_does_not_wait_for_hours(self) -> None:
        script = Script(answer({"detail": "a quota"}, 429, retry_after="3600"))
        with self.assertRaises(RateLimited) as caught:
            script.play(call(SETTINGS, GET))
        self.assertEqual((caught.exception.retry_after, script.slept), (3600, []))

    def test_ends_after_the_given_number(self) -> None:
        script = Script(LOST, LOST, LOST, LOST)
        with self.assertRaises(ConnectionFailed):
            script.play(call(SETTINGS, GET))
        self.assertTrue(script.all_used())

    def test_of_what_may_be_carried_out_twice_never_follows(self) -> None:
        for failure in (LOST, BUSY, answer({"detail": "…"}, 504)):
            script = Script(failure)
            with self.assertRaises((ConnectionFailed, Unavailable)):
                script.play(call(SETTINGS, POST))
            self.assertEqual(len(script.requests), 1)

    def test_of_what_was_not_carried_out_is_always_safe(self) -> None:
        unsent = ConnectionFailed("refused", sent=False)
        script = Script(unsent, answer({"detail": "…"}, 429, retry_after="1"), answer({"id": "m"}, 201))
        self.assertEqual(script.play(call(SETTINGS, POST)), {"id": "m"})

    def test_of_a_refusal_that_stays_never_follows(self) -> None:
        for status in (400, 401, 403, 404, 409, 422, 500, 507):
            script = Script(answer({"detail": "…"}, status))
            with self.assertRaises(ApiError):
                script.play(call(SETTINGS, GET))


class AList(unittest.TestCase):
    def test_gives_the_items_of_all_pages(self) -> None:
        script = Script(
            answer({"machines": [{"id": "1"}, {"id": "2"}], "next_cursor": "next"}),
            LOST,
            answer({"machines": [{"id": "3"}], "next_cursor": None}),
        )
        script.play(each(SETTINGS, operations.list_machines(name="box", limit=2)))
        self.assertEqual([item["id"] for item in script.emitted], ["1", "2", "3"])
        first, *others = script.sent()
        self.assertEqual(first, "GET /machines?limit=2&name=box")
        self.assertEqual(set(others), {"GET /machines?limit=2&cursor=next&name=box"})

    def test_ends_when_the_service_repeats_a_page(self) -> None:
        page = answer({"machines": [], "next_cursor": "same"})
        with self.assertRaisesRegex(RunledgerError, "same page again"):
            Script(page, page).play(each(SETTINGS, operations.list_machines()))

    def test_of_one_page_is_a_call(self) -> None:
        script = Script(answer({"machines": [], "next_cursor": None}))
        self.assertEqual(script.play(call(SETTINGS, operations.list_machines(limit=5)))["machines"], [])
        self.assertEqual(script.sent(), ["GET /machines?limit=5"])

    def test_of_operations_encodes_its_body(self) -> None:
        script = Script(answer({"id": "m"}, 201))
        script.play(call(SETTINGS, POST))
        self.assertEqual(body_of(script.requests[0]), {"name": "box", "gpu": "A100"})
        self.assertEqual(script.requests[0].headers["content-type"], "application/json")


