"""Plays a flow against a script: what the service answers, in order. No time passes and nothing is sent."""

from __future__ import annotations

import json
from typing import Any

from runledger import ConnectionFailed
from runledger._core.effects import (
    Blocking,
    Body,
    Emit,
    Flow,
    Now,
    Open,
    Read,
    Request,
    Response,
    Send,
    Shielded,
    Sleep,
    Watch,
)
from runledger._core.retries import Retries
from runledger._core.settings import Settings

SETTINGS = Settings("http://api.test/api", "rl_key", 30.0, Retries(3, lambda: 1.0))
LOST = ConnectionFailed("the connection was lost")


def answer(body: object = None, status: int = 200, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, named, b"" if body is None else json.dumps(body).encode())


class Script:
    """`answers`: a Response, an exception, or for a stream a list of pieces, of which the last may be an exception."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self._pieces: list[Any] = []
        self.requests: list[Request] = []
        self.slept: list[float] = []
        self.emitted: list[Any] = []
        self.time = 0.0

    def play(self, flow: Flow[Any]) -> Any:
        outcome: Any = None
        try:
            effect = flow.send(None)
            while True:
                try:
                    outcome = self._outcome(effect)
                except BaseException as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(outcome)
        except StopIteration as end:
            return end.value

    def sent(self) -> list[str]:
        return [f"{each.method} {each.url.removeprefix(SETTINGS.url)}" for each in self.requests]

    def all_used(self) -> bool:
        return not self._answers

    def _outcome(self, effect: object) -> Any:
        match effect:
            case Send(request):
                return self._answered(request)
            case Open(request):
                opened = self._answered(request)
                if isinstance(opened, list):
                    self._pieces = opened
                    return Response(200, {}, b"")
                return opened
            case Read():
                return self._raised(self._pieces.pop(0)) if self._pieces else b""
            case Sleep(seconds):
                self.slept.append(seconds)
                self.time += seconds
            case Now():
                return self.time
            case Blocking(function):
                return function()
            case Emit(value):
                self.emitted.append(value)
            case Watch(watched):
                for flow, handle in watched:
                    beside = Script(*self._answers)
                    beside.play(flow)
                    self._answers = beside._answers
                    self.requests += beside.requests
                    for value in beside.emitted:
                        handle(value)
            case Shielded(flow):
                return self.play(flow)
        return None

    def _answered(self, request: Request) -> Any:
        self.requests.append(request)
        if not self._answers:
            raise AssertionError(f"The script has no answer to {request.method} {request.url}.")
        given = self._answers.pop(0)
        if callable(given):
            given = given(self)
        return self._raised(given)

    @staticmethod
    def _raised(given: Any) -> Any:
        if isinstance(given, BaseException):
            raise given
        return given


def body_of(request: Request) -> Any:
    """The bytes that a request sends, as JSON if it is that."""
    content = request.content
    if isinstance(content, Body):
        return content.read(content.start, content.end - content.start)
    return json.loads(content) if content else None
