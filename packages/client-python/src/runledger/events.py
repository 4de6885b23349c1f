"""What a subscription to a run gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, Union

if TYPE_CHECKING:
    from .models import (
        RunFactEvent,
        RunLogCut,
        RunLogLine,
        RunLogNotice,
        RunProgressEvent,
        RunStatus,
    )


@dataclass(frozen=True)
class FactEvent:
    """A fact about the run: something that is stored, and that the run is not without any more."""

    #: Give it to `subscribe` as `after` to continue behind this event.
    id: str
    data: RunFactEvent
    event: Literal["fact"] = "fact"


@dataclass(frozen=True)
class ProgressEvent:
    """How far the present attempt is: once a second at most, and only the latest."""

    data: RunProgressEvent
    event: Literal["progress"] = "progress"


@dataclass(frozen=True)
class Progress:
    """How far a run is, for `on_progress`."""

    status: RunStatus
    #: From 0 to 1. Another attempt begins at 0 again.
    progress: float
    #: A short sentence about the current step; None at the end.
    live_status: str | None
    #: The number of the attempt, from 1; 0 before the first.
    attempt: int


RunEvent: TypeAlias = Union[FactEvent, ProgressEvent]
#: A line, `cut` where lines are missing, or a `notice` about an attempt.
LogItem: TypeAlias = "Union[RunLogLine, RunLogCut, RunLogNotice]"
