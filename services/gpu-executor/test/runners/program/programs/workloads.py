# The workloads of the conformance suite with the Python helper.
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

from runledger_resident import RunFailed, serve


def succeeds(inputs, context):
    context.progress(0.25, "row 1/2")
    print("a line of its log")
    context.output("one")
    context.output("7", kind="seed")
    context.progress(1)
    context.output("two")
    (context.output_dir / "frames").mkdir()
    (context.output_dir / "frames" / "1.png").write_text("12345")


def fails(inputs, context):
    raise ValueError("size is too large")


def fails_after_a_file(inputs, context):
    (context.output_dir / "half.png").touch()
    raise RunFailed("no memory")


def crashes(inputs, context):
    os.kill(os.getpid(), signal.SIGKILL)


def ends_when_it_is_cancelled(inputs, context):
    try:
        while True:
            context.progress(0.5)
            time.sleep(0.01)
    finally:
        (context.output_dir / "tidied").touch()


def ignores_a_cancel(inputs, context):
    context.progress(0.5)
    while True:
        time.sleep(1)


def puts_out_json_values(inputs, context):
    context.output({"boxes": [[1, 2], [3.5, None]]})
    context.output("a text", None, True)


def puts_out_nan(inputs, context):
    context.output(0.91, float("nan"), float("-inf"), kind="scores")
    context.output({"loss": float("nan")})
    context.progress(float("nan"), "half")


def puts_out_nothing(inputs, context):
    context.output(object())


def leaves_a_file(inputs, context):
    (context.output_dir / "begun").touch()


def tells_its_seed(inputs, context):
    context.output(str(inputs["seed"]))
    context.output(f"{type(inputs['text']).__name__} {inputs['text']}")


def writes_its_log(inputs, context):
    print("one")
    subprocess.run(["echo", "two"], check=True)


def floods_its_output(inputs, context):
    print("x" * 3_000_000)
    print("y\n" * 500_000)
    context.output("last")


def writes_too_much_text(inputs, context):
    for _ in range(7):
        context.output("x" * 40_000)


def copies_an_input_file(inputs, context):
    shutil.copy(context.input_dir / inputs["picture"], context.output_dir / "copy")


def ignores_its_input(inputs, context):
    # Its own input is that of nobody.
    assert sys.stdin.read() == ""


class OutOfMemoryError(RuntimeError):
    """As torch has it."""


def needs_too_much_memory(inputs, context):
    if inputs["how"] == "torch":
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")
    if inputs["how"] == "cause":
        try:
            bytearray(1 << 62)
        except MemoryError as error:
            raise RuntimeError("the picture could not be made") from error
    try:
        bytearray(1 << 62)
    except MemoryError:
        raise ValueError("the size is wrong")


def fails_for_good(inputs, context):
    raise RunFailed("the size is wrong", retryable=False)


def prints_what_looks_like_a_message(inputs, context):
    print('{"type":"failed","run_id":"%s","message":"printed"}' % context.run_id)
    os.write(1, b'{"type":')
    context.output("whole")


def prints_in_every_way_and_raises(inputs, context):
    n = inputs["n"]
    context.progress(0.5, f"run {n}")
    print(f"{n}: print")
    ctypes.CDLL(None).printf(b"%d: printf\n", n)
    subprocess.run(["echo", f"{n}: child"], check=True)
    context.output(str(n))
    print(f"{n}: the last", end="")
    sys.stdout.write("")
    raise ValueError(f"{n}: raised")


def leaves_a_child_that_writes(inputs, context):
    subprocess.Popen(["sh", "-c", "sleep 0.3; echo late"])
    print("its own")


def leaves_what_writes(inputs, context):
    what = inputs["what"]
    subprocess.Popen(["sh", "-c", f"for n in $(seq 100); do echo {what} of a child; sleep 0.05; done"])

    def write():
        for _ in range(200):
            print(f"{what} of a thread")
            sys.stderr.write(f"\r{what}: 40%|####      | 4/10 [00:01<00:02]\r\n")
            context.output(f"{what} of an output")
            threading.Thread(target=print, args=[f"{what} of a thread of a thread"]).start()
            time.sleep(0.03)

    threading.Thread(target=write, daemon=True).start()
    print(f"{what} itself")


def prints_for_a_while(inputs, context):
    def print_in_a_thread():
        print("in a thread")

    print("first")
    thread = threading.Thread(target=print_in_a_thread)
    thread.start()
    thread.join()
    print("x" * 40_000)
    subprocess.run(["sh", "-c", "sleep 0.5; echo child"])
    sys.stderr.write("an error")


WORKS = {
    "leaves what writes": leaves_what_writes,
    "prints for a while": prints_for_a_while,
    "prints in every way and raises": prints_in_every_way_and_raises,
    "leaves a child that writes": leaves_a_child_that_writes,
    "succeeds with text and a file": succeeds,
    "fails": fails,
    "fails after a file": fails_after_a_file,
    "crashes": crashes,
    "ends when it is cancelled": ends_when_it_is_cancelled,
    "ignores a cancel": ignores_a_cancel,
    "puts out JSON values": puts_out_json_values,
    "puts out NaN": puts_out_nan,
    "puts out nothing": puts_out_nothing,
    "leaves a file": leaves_a_file,
    "tells its seed": tells_its_seed,
    "writes its log": writes_its_log,
    "floods its output": floods_its_output,
    "writes too much text": writes_too_much_text,
    "copies an input file": copies_an_input_file,
    "ignores its input": ignores_its_input,
    "needs too much memory": needs_too_much_memory,
    "fails for good": fails_for_good,
    "prints what looks like a message": prints_what_looks_like_a_message,
}

if "PRINTS_WHILE_LOADING" in os.environ:
    print("loading, without the end of a line", end="")
serve(lambda inputs, context: WORKS[inputs["workload"]](inputs, context))
