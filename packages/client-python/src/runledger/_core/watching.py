"""The events and the logs of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import operations
from ..errors import RunledgerError
from ..events import FactEvent, Progress, ProgressEvent, RunEvent
from .effects import Flow
from .responses import NEVER_KNOWN
from .settings import Settings
from .sse import Message
from .streams import json_lines, json_of, messages


def run_events(settings: Settings, run_id: str, after: str | None) -> Flow[None]:
    """Emits the events of a run after the one with the id `after`, until the run has ended."""
    return _events(settings, run_id, after, lambda event: [event])


def run_progress(settings: Settings, run_id: str) -> Flow[None]:
    """Emits a Progress whenever it changes, until the run has ended."""
    shown: list[Progress] = []

    def progress_of(event: RunEvent, status: str) -> float:
        progress = event.data["progress"]
        if not isinstance(event, FactEvent) or event.data["finished"] or status == "queued" or not shown:
            return progress
        # A fact within an attempt does not say how far it is.
        return max(progress, shown[-1].progress) if shown[-1].attempt == event.data["attempt"] else progress

    def changes(event: RunEvent) -> Iterable[Progress]:
        # Progress has no status of its own: it is that of the last fact.
        status = event.data["status"] if isinstance(event, FactEvent) else shown[-1].status if shown else "running"
        now = Progress(status, progress_of(event, status), event.data["live_status"], event.data["attempt"])
        if shown and shown[-1] == now:
            return []
        shown[:] = [now]
        return shown

    return _events(settings, run_id, None, changes)


def _events(
    settings: Settings, run_id: str, after: str | None, view: Callable[[RunEvent], Iterable[Any]]
) -> Flow[None]:
    def read_message(message: Message) -> tuple[Iterable[Any], bool]:
        if message.event == "progress":
            return view(ProgressEvent(json_of(message.data))), False
        if message.event != "fact":
            return [], False
        if message.id is None:
            raise RunledgerError(f"The service sent a fact without an id. {NEVER_KNOWN}")
        event = FactEvent(message.id, json_of(message.data))
        return view(event), event.data["finished"]

    return messages(
        settings, lambda last: operations.watch_run(run_id, last_event_id=_number(last)), after, read_message
    )


def _number(event_id: str | None) -> int | None:
    return None if event_id is None else int(event_id)


def run_logs(
    settings: Settings, run_id: str, *, attempt: int | None, tail: int | None, follow: bool
) -> Flow[None]:
    """Emits the lines of the logs, with `follow` until the run has ended."""
    if not follow:
        return json_lines(settings, operations.get_run_logs(run_id, attempt=attempt, tail=tail))
    return messages(
        settings,
        lambda last: operations.get_run_logs(
            run_id, attempt=attempt, tail=tail, follow=True, last_event_id=last
        ),
        None,
        _log_item,
    )


def _log_item(message: Message) -> tuple[Iterable[Any], bool]:
    if message.event in ("line", "cut", "notice"):
        return [json_of(message.data)], False
    return [], message.event == "end"
