from __future__ import annotations

import json
import unittest
from typing import Any

from runledger import ConnectionFailed, FactEvent, NotFound, ProgressEvent, RunledgerError, operations
from runledger._core.sse import MAX_EVENT_LENGTH, EventParser, Message
from runledger._core.streams import pieces
from runledger._core.watching import run_events, run_logs, run_progress

from .scripted import LOST, SETTINGS, Script, answer

STREAM = (
    "\ufeff: a comment\n\n"
    "id: 7\nevent: fact\ndata: {\"text\":\r\ndata: \"naïve 🦊\"}\n\n"
    "data\n\n"
    "event: ignored\n\nretry: 2500\nunknown: x\r\ndata:no space\r\r"
    "event: last\ndata: without an end"
).encode()
MESSAGES = [
    Message("fact", '{"text":\n"naïve 🦊"}', "7"),
    Message("message", "", "7"),
    Message("message", "no space", "7"),
]


class AStreamOfEvents(unittest.TestCase):
    def test_is_read_as_the_standard_says(self) -> None:
        parser = EventParser()
        self.assertEqual(list(parser.feed(STREAM)), MESSAGES)
        self.assertEqual(parser.retry_s, 2.5)

    def test_may_be_cut_anywhere(self) -> None:
        for size in (1, 2, 3, 7):
            parser = EventParser()
            read = [
                message
                for start in range(0, len(STREAM), size)
                for message in parser.feed(STREAM[start : start + size])
            ]
            self.assertEqual(read, MESSAGES)

    def test_has_no_event_without_bound(self) -> None:
        for line in (b"x" * 4096, b"data: " + b"x" * 4096 + b"\n"):
            parser = EventParser()
            list(parser.feed(b"data: x\n"))
            with self.assertRaisesRegex(RunledgerError, "more than"):
                for _ in range(MAX_EVENT_LENGTH // 4096 + 1):
                    list(parser.feed(line))


def fact(sequence: int, status: str, **members: Any) -> bytes:
    data = {"status": status, "progress": 0, "live_status": None, "attempt": 0, "finished": False} | members
    return f"id: {sequence}\nevent: fact\ndata: {json.dumps(data)}\n\n".encode()


def progress(share: float) -> bytes:
    data = {"progress": share, "live_status": "drawing", "attempt": 1}
    return f"event: progress\ndata: {json.dumps(data)}\n\n".encode()


END = fact(9, "success", finished=True, progress=1, attempt=1)


class ASubscription(unittest.TestCase):
    def events(self, script: Script, after: str | None = None) -> list[Any]:
        script.play(run_events(SETTINGS, "run-1", after))
        return script.emitted

    def test_gives_facts_and_progress_until_the_run_has_ended(self) -> None:
        events = self.events(Script([b": waiting\n\n", fact(3, "queued"), progress(0.5) + END, b"unread"]))
        self.assertEqual([event.event for event in events], ["fact", "progress", "fact"])
        assert isinstance(events[0], FactEvent) and isinstance(events[1], ProgressEvent)
        self.assertEqual((events[0].id, events[1].data["progress"]), ("3", 0.5))

    def test_continues_behind_the_last_fact(self) -> None:
        script = Script([fact(3, "queued"), progress(0.5), LOST], LOST, [b"retry: 4000\n: stopping\n\n"], [END])
        self.assertEqual(len(self.events(script)), 3)
        self.assertEqual([each.headers.get("last-event-id") for each in script.requests], [None, "3", "3", "3"])
        self.assertEqual(script.slept, [0.5, 1.0, 4.0])

    def test_begins_where_it_is_told(self) -> None:
        script = Script(answer(None, 204))
        self.assertEqual(self.events(script, "9"), [])
        self.assertEqual(script.requests[0].headers["last-event-id"], "9")

    def test_gives_up_when_nothing_arrives_any_more(self) -> None:
        with self.assertRaises(ConnectionFailed):
            self.events(Script([fact(3, "queued")], [], [], []))

    def test_ends_with_a_refusal(self) -> None:
        with self.assertRaises(NotFound):
            self.events(Script([fact(3, "queued"), LOST], answer({"detail": "Run not found"}, 404)))

    def test_does_not_mind_events_that_it_does_not_know(self) -> None:
        self.assertEqual(len(self.events(Script([b"event: news\ndata: of another kind\n\n", END]))), 1)

    def test_ends_when_it_does_not_understand(self) -> None:
        with self.assertRaisesRegex(RunledgerError, "does not understand"):
            self.events(Script([b"id: 1\nevent: fact\ndata: {\n\n"]))


class TheProgressOfARun(unittest.TestCase):
    def test_has_the_status_of_the_last_fact_and_comes_when_it_changes(self) -> None:
        running = fact(4, "running", attempt=1)
        script = Script([fact(3, "queued"), running, progress(0.5), progress(0.5), END])
        script.play(run_progress(SETTINGS, "run-1"))
        self.assertEqual(
            [(each.status, each.progress, each.attempt) for each in script.emitted],
            [("queued", 0, 0), ("running", 0, 1), ("running", 0.5, 1), ("success", 1, 1)],
        )


class Logs(unittest.TestCase):
    def lines(self, script: Script, *, follow: bool) -> list[Any]:
        script.play(run_logs(SETTINGS, "run-1", attempt=2, tail=None, follow=follow))
        return script.emitted

    def test_are_lines_of_json(self) -> None:
        script = Script(LOST, [b'{"line": "a', b' fox"}\n{"notice": "kept"}\n'])
        self.assertEqual(self.lines(script, follow=False), [{"line": "a fox"}, {"notice": "kept"}])
        self.assertEqual(script.sent()[0], "GET /run/run-1/logs?attempt=2")

    def test_that_are_cut_off_are_no_whole_logs(self) -> None:
        with self.assertRaises(ConnectionFailed):
            self.lines(Script([b'{"line": "a fox"}\n{"line"']), follow=False)

    def test_are_followed_to_the_end_of_the_run(self) -> None:
        line = b'id: 1-5\nevent: line\ndata: {"line": "a fox"}\n\n'
        script = Script([line, LOST], [b'id: 1-9\nevent: end\ndata: {"status": "success"}\n\n'])
        self.assertEqual(self.lines(script, follow=True), [{"line": "a fox"}])
        self.assertEqual(script.requests[1].headers["last-event-id"], "1-5")
        self.assertEqual(script.sent()[1], "GET /run/run-1/logs?attempt=2&follow=true")


class BytesOfAFile(unittest.TestCase):
    def test_come_in_pieces(self) -> None:
        script = Script(LOST, [b"a ", b"fox"])
        script.play(pieces(SETTINGS, operations.get_file_content("file-1")))
        self.assertEqual(script.emitted, [b"a ", b"fox"])
