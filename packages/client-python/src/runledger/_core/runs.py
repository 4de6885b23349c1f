"""Queues runs, waits for their ends, and cancels those that nobody waits for any more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import operations
from ..errors import RunFailed, RunledgerError
from .calls import call
from .effects import Flow, Handler, Shielded, Sleep, Watch, Watched, now
from .foreign import with_member
from .operation import Operation
from .settings import Settings
from .uploads import with_uploaded_files
from .watching import run_logs, run_progress

if TYPE_CHECKING:
    from ..models import CancelRunResponse, CreateRunResponse, DeploymentRunRequest, RerunRequest, WorkflowRun

#: The service waits up to 60 s.
WAIT_S = 30.0
#: A service that is about to stop answers at once.
LEAST_WAIT_S = 0.5


#: An id is no name.
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def named(deployment: str) -> dict[str, Any]:
    """The members of a request that name its deployment: by its id, or by its name, with a version behind it or without."""
    return {"deployment_id" if UUID.fullmatch(deployment) else "deployment": deployment}


def queue(settings: Settings, request: Mapping[str, Any], key: str) -> Flow[CreateRunResponse]:
    """Uploads the files of the inputs, and queues a run. Requests with the same key queue one run."""
    return (yield from _queued(settings, (yield from _sendable(settings, request)), key))


def _sendable(settings: Settings, request: Mapping[str, Any]) -> Flow[DeploymentRunRequest]:
    inputs = yield from with_uploaded_files(settings, request.get("inputs") or {})
    sendable: Any = {**request, "inputs": inputs}
    return sendable  # type: ignore[no-any-return]


def _queued(settings: Settings, request: DeploymentRunRequest, key: str) -> Flow[CreateRunResponse]:
    queued = yield from call(settings, operations.queue_run(request, idempotency_key=key))
    return with_member(queued, "run_id")


def rerun(
    settings: Settings, run_id: str, inputs: Mapping[str, Any] | None, key: str
) -> Flow[CreateRunResponse]:
    sendable = None if inputs is None else (yield from with_uploaded_files(settings, inputs))
    body: RerunRequest = {} if sendable is None else {"inputs": sendable}
    return with_member((yield from call(settings, operations.rerun_run(run_id, body, idempotency_key=key))), "run_id")


def get(settings: Settings, operation: Operation[WorkflowRun]) -> Flow[WorkflowRun]:
    return with_member((yield from call(settings, operation)), "id")


def cancel(run_id: str) -> Operation[CancelRunResponse]:
    # Repeating it changes nothing.
    return replace(operations.cancel_run(run_id), idempotent=True)


def wait(settings: Settings, run_id: str, timeout_s: float | None) -> Flow[WorkflowRun]:
    """The run when it has ended. Raises TimeoutError when it has not within `timeout_s`."""
    asked = yield from now()
    deadline = None if timeout_s is None else asked + timeout_s
    while True:
        seconds = WAIT_S if deadline is None else min(WAIT_S, max(0.0, deadline - asked))
        read = operations.get_run(run_id, wait=round(seconds, 3))
        run = with_member((yield from call(settings, read, longer_s=seconds)), "finished")
        if run["finished"]:
            return run
        answered = yield from now()
        if deadline is not None and answered >= deadline:
            raise TimeoutError(f"Run {run_id} has not ended after {timeout_s} s; it goes on.")
        if answered - asked < min(LEAST_WAIT_S, seconds):
            yield Sleep(LEAST_WAIT_S)
            answered = yield from now()
        asked = answered


def run_to_end(
    settings: Settings,
    request: Mapping[str, Any],
    key: str,
    on_progress: Handler | None,
    on_log: Handler | None,
) -> Flow[WorkflowRun]:
    """
    The run when it has ended in success. Raises RunFailed. When the caller is interrupted or cancelled, or a handler
    raises, the run is cancelled, since nobody waits for it any more.
    """
    sendable = yield from _sendable(settings, request)
    run_id: str | None = None
    try:
        run_id = (yield from _queued(settings, sendable, key))["run_id"]
        watched = _watched(settings, run_id, on_progress, on_log)
        if watched:
            yield Watch(watched)
        run = yield from wait(settings, run_id, None)
    except (RunledgerError, GeneratorExit):
        # The service may go on with it.
        raise
    except BaseException:
        yield Shielded(_cancel_queued(settings, sendable, key, run_id))
        raise
    if run["status"] != "success":
        raise RunFailed(run)
    return run


def _watched(
    settings: Settings, run_id: str, on_progress: Handler | None, on_log: Handler | None
) -> Watched:
    progress = () if on_progress is None else ((run_progress(settings, run_id), on_progress),)
    logs = (
        ()
        if on_log is None
        else ((run_logs(settings, run_id, attempt=None, tail=None, follow=True), on_log),)
    )
    return (*progress, *logs)


def _cancel_queued(
    settings: Settings, request: DeploymentRunRequest, key: str, run_id: str | None
) -> Flow[None]:
    hurried = replace(settings, retries=replace(settings.retries, most=min(1, settings.retries.most)))
    try:
        if run_id is None:
            # It may be queued although the response did not arrive: its key tells which run it is.
            run_id = (yield from _queued(hurried, request, key))["run_id"]
        yield from call(hurried, cancel(run_id))
    except RunledgerError:
        # The caller learns why it was interrupted.
        return
