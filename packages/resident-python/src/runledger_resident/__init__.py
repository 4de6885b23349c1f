"""Makes a function a program that stays loaded between the runs of Runledger."""

import contextvars
import json
import os
import queue
import stat
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, Optional


class RunFailed(Exception):
    """Fails the run with a message that its client sees. `retryable`: the same run may succeed another time."""

    def __init__(self, message: str, retryable: bool = True):
        super().__init__(message)
        self.retryable = retryable


class Cancelled(Exception):
    """The run must end: clean up, and let it pass."""


class Context:
    """What a run has beside its inputs."""

    def __init__(self, run: Dict[str, Any], send: Callable[..., None]):
        self.run_id: str = run["run_id"]
        self.attempt: int = run["attempt"]  # from 1; work that was lost is done again
        self.workflow: Any = run["workflow"]
        self.gpu: str = run["gpu"]
        self.input_dir = Path(run["input_dir"])  # the files of its inputs
        self.cancelled = threading.Event()  # set when the run must end
        self._output_dir = Path(run["output_dir"])
        self._send = send

    @property
    def output_dir(self) -> Path:
        """Files that are here at the end are the outputs of the run. It is made when it is first asked for."""
        self._output_dir.mkdir(exist_ok=True)
        return self._output_dir

    def progress(self, progress: float, live_status: Optional[str] = None) -> None:
        """From 0 to 1, with one short line for people. Raises Cancelled when the run must end."""
        if self.cancelled.is_set():
            raise Cancelled("cancelled")
        self._send(type="progress", run_id=self.run_id, progress=progress, live_status=live_status)

    def output(self, *values: Any, kind: Optional[str] = None) -> None:
        """Adds texts, or other values that JSON has, to the outputs of the run. Texts are of the kind `text` and other values of the
        kind `json`, if it is not given."""
        if kind is None:
            kind = "text" if all(isinstance(value, str) for value in values) else "json"
        if kind in ("type", "run_id"):
            raise ValueError(f"an output cannot be of the kind {kind}: the message has such a member")
        self._send(type="output", run_id=self.run_id, **{kind: values})


def serve(run: Callable[[Dict[str, Any], Context], Any]) -> None:
    """Executes runs, one at a time, until the executor ends the program. Call it when everything is loaded.

    What is printed from then on, also by libraries in C and by child processes, is the log of the current run."""
    sys.stdout.reconfigure(line_buffering=True)
    # By hand it is none.
    is_socket = stat.S_ISSOCK(os.fstat(0).st_mode)
    log = _Log(os.environ.get("RUNLEDGER_LOG_MARK") if is_socket else None)
    lines, messages = os.fdopen(os.dup(0), encoding="utf-8"), _messages(log)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # What is printed while an object is removed may come in the middle of a message.
    writing = threading.RLock()

    def send(**message: Any) -> None:
        line = json.dumps(message) + "\n"
        with writing:
            messages.write(line)
            messages.flush()

    runs: "queue.Queue[Optional[tuple[Dict[str, Any], Context]]]" = queue.Queue()

    def read() -> None:
        context = None
        for line in lines:
            message = json.loads(line)
            if message["type"] == "run":
                context = Context(message, send)
                runs.put((message["inputs"], context))
            elif message["type"] == "cancel" and context is not None and context.run_id == message["run_id"]:
                context.cancelled.set()
        if context is not None:
            context.cancelled.set()
        runs.put(None)

    threading.Thread(target=read, daemon=True).start()
    says_run = log.has_marks and "RUNLEDGER_LOG_BY_RUN" in os.environ
    end_of_log = _say_of_which_run(send) if says_run else lambda run_id: None
    log.mark("ready")
    messages.write("\n")  # what was printed before may end within a line
    send(type="ready", makes_output_dir=True)
    for inputs, context in iter(runs.get, None):
        log.mark(f"run {context.run_id}")
        _of_run.set(context.run_id)
        try:
            run(inputs, context)
            result: Dict[str, Any] = {"type": "done"}
        except Exception as error:
            traceback.print_exc()
            named = isinstance(error, (RunFailed, Cancelled))
            message = str(error) if named else f"{type(error).__name__}: {error}"
            retryable = error.retryable if isinstance(error, RunFailed) else True
            result = {"type": "failed", "message": message, "retryable": retryable}
        end_of_log(context.run_id)
        _of_run.set(None)
        log.mark(f"done {context.run_id}")
        send(run_id=context.run_id, **result)


# Of which run the present code is, where that is asked for.
_of_run: "contextvars.ContextVar[Optional[str]]" = contextvars.ContextVar("runledger_run", default=None)
# A message must not become longer than the executor reads.
_MOST_PRINTED = 16 * 1024


def _say_of_which_run(send: Callable[..., None]) -> Callable[[str], None]:
    """What a run prints goes to the executor with its id: what a thread of it prints, too, also while a later run executes. Organisations share the
    program, so nothing that cannot be told apart may be in the log of a run. The result sends what a run has printed of a line."""
    start = threading.Thread.start

    def start_of_run(thread: threading.Thread) -> None:
        thread._runledger_run = _run_here()  # type: ignore[attr-defined]
        start(thread)

    threading.Thread.start = start_of_run  # type: ignore[method-assign]
    streams = [_Printed(name, stream, send) for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr))]

    def end(run_id: str) -> None:
        for stream in streams:
            stream.end(run_id)

    return end


def _run_here() -> Optional[str]:
    return _of_run.get() or getattr(threading.current_thread(), "_runledger_run", None)


class _Printed:
    """One of the usual streams, of which each line is said with its run. Threads write it line by line."""

    def __init__(self, name: str, stream: Any, send: Callable[..., None]):
        self._name, self._send, self._process = name, send, os.getpid()
        self._begun: Dict[Any, str] = {}
        self._write, self._flush = stream.write, stream.flush
        stream.write, stream.flush = self.write, self.flush

    def write(self, text: str) -> int:
        run_id = _run_here()
        # A child that was forked has the locks of its parent as they were.
        if run_id is None or os.getpid() != self._process:
            return int(self._write(text))
        here = (run_id, threading.get_ident())
        printed = self._begun.pop(here, "") + text
        end = printed.rfind("\n") + 1 if len(printed) < _MOST_PRINTED else len(printed)
        if end < len(printed):
            self._begun[here] = printed[end:]
        self._say(run_id, printed[:end])
        return len(text)

    def flush(self) -> None:
        run_id = _run_here()
        if run_id is not None and os.getpid() == self._process:
            self._say(run_id, self._begun.pop((run_id, threading.get_ident()), ""))
        self._flush()

    def end(self, run_id: str) -> None:
        for here in [each for each in list(self._begun) if each[0] == run_id]:
            self._say(run_id, self._begun.pop(here, ""))

    def _say(self, run_id: str, text: str) -> None:
        for at in range(0, len(text), _MOST_PRINTED):
            self._send(type="log", run_id=run_id, stream=self._name, text=text[at : at + _MOST_PRINTED])


def _messages(log: "_Log") -> Any:
    """Where messages go: to standard input, so that what is printed is the log alone. Where that takes none, they go to standard output, and what
    is printed to standard error."""
    if log.has_marks:
        return os.fdopen(os.dup(0), "w", encoding="utf-8")
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return messages


class _Log:
    """What is printed. Marks in it say where a run begins and ends: it comes by other ways than the messages."""

    def __init__(self, mark: Optional[str]):
        self.has_marks = mark is not None
        self._mark = mark
        self._flush_of_c = _flush_of_c()
        # A run may close the usual ones, or let them lead elsewhere.
        self._descriptors = [os.dup(1), os.dup(2)]

    def mark(self, point: str) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # the run has replaced or closed it
        self._flush_of_c()
        if self.has_marks:
            for descriptor in self._descriptors:
                os.write(descriptor, f"\n{self._mark} {point}\n".encode())


def _flush_of_c() -> Callable[[], Any]:
    """Writes what libraries in C have printed, which have a buffer of their own. From now on that is written line by line."""
    try:
        import ctypes

        library = ctypes.CDLL(None)
        by_lines = 1  # _IOLBF
        library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, by_lines, 0)
        return lambda: library.fflush(None)
    except Exception:
        return lambda: None  # a Python without ctypes, or another C library
