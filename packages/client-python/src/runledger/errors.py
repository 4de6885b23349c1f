"""What goes wrong, as exceptions. All of them are a RunledgerError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .models import ValidationError as Problem
    from .models import WorkflowRun


class RunledgerError(Exception):
    """The base of all errors of this package."""


class ConnectionFailed(RunledgerError):
    """There was no response, or it ended early. `sent` is False when the request cannot have reached the service."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class ApiError(RunledgerError):
    """The service refused a request."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        detail: str = "no reason given",
        code: str | None = None,
        request_id: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        #: The HTTP status.
        self.status = status
        #: What happened and what to do, for people; for a 422 one line for each problem.
        self.detail = detail
        #: Stable, for programs; None from a service that sends none.
        self.code = code
        #: The log of the service has it; None when the response did not name it.
        self.request_id = request_id
        #: Seconds after which the same request may succeed; None when the service does not say.
        self.retry_after = retry_after


class ValidationError(ApiError):
    """422: the request does not fit its description. `problems` lists everything that is wrong."""

    def __init__(self, message: str, *, problems: Sequence[Problem], **known: object) -> None:
        super().__init__(message, **known)  # type: ignore[arg-type]
        self.problems = problems


class NotFound(ApiError):
    """404: the organisation of the key has no such record."""


class RateLimited(ApiError):
    """429: too many requests, or a quota is reached."""


class Unavailable(ApiError):
    """502 to 504, and 520 to 524 of Cloudflare: the service cannot do this now."""


class RunFailed(RunledgerError):
    """The run ended otherwise than in success. `run` is the run."""

    def __init__(self, run: WorkflowRun) -> None:
        super().__init__(_end_of(run))
        self.run = run


class WebhookInvalid(RunledgerError):
    """A notification that the service did not sign, or not within the tolerance. Answer it with 400."""


def _end_of(run: Mapping[str, object] | WorkflowRun) -> str:
    error = run.get("error")
    message = error.get("message") if isinstance(error, Mapping) else None
    reason = message if isinstance(message, str) else run.get("end_reason")
    return f"Run {run.get('id')} ended as {run.get('status')}: {reason}"
