"""The client with blocking calls. Its twin in `async_client` has the same methods."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import httpx
from typing_extensions import Unpack

from . import operations
from ._core import calls, runs, streams, uploads, watching
from ._core.operation import Operation, Pages, Stream
from ._core.settings import DEFAULT_RETRIES, DEFAULT_TIMEOUT_S, Settings, read_settings
from ._io.sync_driver import SyncDriver
from ._io.steps import made_http
from .events import LogItem, Progress, RunEvent
from .files import FileInput
from .options import Included, Inputs, RunFilter, RunOptions

if TYPE_CHECKING:
    from .models import CancelRunResponse, CreateRunResponse, UploadedFile, WorkflowRun

T = TypeVar("T")
Item = TypeVar("Item")


class Runledger:
    """
    A connection to Runledger. `url` is that of the API with its base path, such as `http://127.0.0.1:8080/api`; it and
    `api_key` come from RUNLEDGER_URL and RUNLEDGER_API_KEY when they are not given.

    `timeout`: seconds without any data after which a connection counts as lost. `retries`: how often a request is sent
    again at most when the service cannot be reached or says that it cannot do it now; a request that could be carried out
    twice is not. `http`: a client of yours, such as one with a proxy.

    Close it, or use it in a `with`. Threads may share it. Every method raises RunledgerError, mostly an ApiError.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT_S,
        retries: int = DEFAULT_RETRIES,
        http: httpx.Client | None = None,
    ) -> None:
        self._settings = read_settings(url, api_key, timeout, retries, os.environ)
        self._http = http or made_http(httpx.Client)
        self._owns_http = http is None
        self._driver = SyncDriver(self._http)
        self.runs = Runs(self._settings, self._driver)
        self.files = Files(self._settings, self._driver)

    def run(
        self,
        deployment: str,
        inputs: Inputs | None = None,
        *,
        on_progress: Callable[[Progress], object] | None = None,
        on_log: Callable[[LogItem], object] | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[RunOptions],
    ) -> WorkflowRun:
        """
        Queues a run and waits for its end. Raises RunFailed when it does not end in success.

        A path, bytes or an open file among the inputs is uploaded. `on_progress` and `on_log` are called in this thread. On
        Ctrl-C, and when one of them raises, the run is cancelled.
        """
        request = {**runs.named(deployment), "inputs": inputs, **options}
        key = idempotency_key or str(uuid4())
        return self._driver.run(runs.run_to_end(self._settings, request, key, on_progress, on_log))

    def subscribe(self, run_id: str, *, after: str | None = None) -> Iterator[RunEvent]:
        """
        The events of a run as they happen, from the first one on or after the one with the id `after`, until the run has
        ended. A lost connection is made again, and no fact is missed.
        """
        return self._driver.iterate(watching.run_events(self._settings, run_id, after))

    def call(self, operation: Operation[T]) -> T:
        """Carries out an operation: `client.call(operations.get_usage())`."""
        return self._driver.run(calls.call(self._settings, operation))

    def each(self, pages: Pages[Any, Item]) -> Iterator[Item]:
        """The items of all pages: `client.each(operations.list_machines())`."""
        return self._driver.iterate(calls.each(self._settings, pages))

    def stream(self, operation: Stream) -> Iterator[bytes]:
        """The bytes of a response as they arrive: `client.stream(operations.get_file_content(id))`."""
        return self._driver.iterate(streams.pieces(self._settings, operation))

    def close(self) -> None:
        """Closes the connections, unless `http` was given."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Runledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Runs:
    """`client.runs`."""

    def __init__(self, settings: Settings, driver: SyncDriver) -> None:
        self._settings = settings
        self._driver = driver

    def queue(
        self,
        deployment: str,
        inputs: Inputs | None = None,
        *,
        idempotency_key: str | None = None,
        **options: Unpack[RunOptions],
    ) -> CreateRunResponse:
        """
        Uploads the files among the inputs, and queues a run: it is stored when this returns. Requests with the same key
        queue one run; without a key each call has one of its own, so that a retry queues nothing twice. `deployment`: its
        name, `NAME@NUMBER` for a version of its workflow, or its id.
        """
        request = {**runs.named(deployment), "inputs": inputs, **options}
        return self._driver.run(runs.queue(self._settings, request, idempotency_key or str(uuid4())))

    def get(self, run_id: str, *, include: Included | Sequence[Included] | None = None) -> WorkflowRun:
        """The run as it is now. Its inputs and its workflow are None unless they are included."""
        return self._driver.run(runs.get(self._settings, operations.get_run(run_id, include=include)))

    def wait(self, run_id: str, *, timeout: float | None = None) -> WorkflowRun:
        """The run when it has ended, however that was. Raises TimeoutError after so many seconds; the run goes on."""
        return self._driver.run(runs.wait(self._settings, run_id, timeout))

    def cancel(self, run_id: str) -> CancelRunResponse:
        """Cancels a run. One that executes ends as cancelled within the grace period."""
        return self._driver.run(calls.call(self._settings, runs.cancel(run_id)))

    def rerun(self, run_id: str, inputs: Inputs | None = None, *, idempotency_key: str | None = None) -> CreateRunResponse:
        """Queues another run with the settings of this one, and with its inputs unless others are given."""
        return self._driver.run(runs.rerun(self._settings, run_id, inputs, idempotency_key or str(uuid4())))

    def list(self, **filter: Unpack[RunFilter]) -> Iterator[WorkflowRun]:
        """The runs that match, newest first, from all pages."""
        return self._driver.iterate(calls.each(self._settings, operations.list_runs(**filter)))

    def logs(
        self, run_id: str, *, follow: bool = False, attempt: int | None = None, tail: int | None = None
    ) -> Iterator[LogItem]:
        """What the attempts of a run wrote; with `follow` also what they write, until the run has ended."""
        return self._driver.iterate(
            watching.run_logs(self._settings, run_id, attempt=attempt, tail=tail, follow=follow)
        )


class Files:
    """`client.files`."""

    def __init__(self, settings: Settings, driver: SyncDriver) -> None:
        self._settings = settings
        self._driver = driver

    def upload(self, file: FileInput) -> UploadedFile:
        """Uploads a file, resumably when it is large. Its `id` is the value of an input."""
        return self._driver.run(uploads.upload(self._settings, file))
