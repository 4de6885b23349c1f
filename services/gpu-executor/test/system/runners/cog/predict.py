"""A model whose predictions do what the tests of the real server ask for."""

import ctypes
import mimetypes
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from cog import BasePredictor, Input, Path


def made(name: str) -> Path:
    path = Path(tempfile.mkdtemp()) / name
    path.write_bytes(name.encode() * (1_000_000 if name == "z.npz" else 1))
    return path


class Predictor(BasePredictor):
    def setup(self) -> None:
        if os.environ.get("SETUP") == "fails":
            raise RuntimeError("no weights at /weights")
        time.sleep(1)

    def predict(
        self,
        what: str = Input(default="text"),
        steps: int = Input(default=4),
        picture: Path = Input(default=None),
        many: list[Path] = Input(default=None),
    ) -> Any:
        if what == "steps":
            for step in range(steps):
                print(f"step {step + 1}/{steps}", flush=True)
                time.sleep(0.4)
            return "done"
        if what == "copy":
            # A folder of the server, which is removed with it.
            copy = Path(os.environ["TMPDIR"]) / "copy.png"
            copy.write_bytes(picture.read_bytes())
            return copy
        if what == "file":
            return made("lora.safetensors")
        if what == "files":
            # The first is the largest.
            return [made(name) for name in ["z.npz", "größe #1.tar.gz", "out.bin", "a.jsonl", "out.bin", "b"]]
        if what == "file in object":
            mimetypes.add_type("application/x-safetensors", ".safetensors")
            with tempfile.NamedTemporaryFile(suffix=".safetensors", delete=False) as adapter:
                adapter.write(b"adapter")
            return {
                "adapter": Path(adapter.name),
                "caption": "a cat",
                "weights": made("lora.safetensors"),
                "mask": made("picture.png"),
                "masks": {"left": made("left.npz")},
            }
        if what == "missing file":
            return [made("a.npz"), Path("/no/such/b.npz")]
        if what == "names":
            return {"names": [str(picture), *map(str, many)], "texts": [path.read_text() for path in many]}
        if what == "children":
            subprocess.run(["sh", "-c", "echo child out; echo child err >&2"], check=True)
            libc = ctypes.CDLL(None)
            libc.puts(b"from C")
            libc.fflush(None)
            print("from Python", flush=True)
            return "done"
        if what == "object":
            return {"caption": "a cat", "seed": 7}
        if what == "raise":
            raise ValueError("no such style")
        if what == "crash":
            os.kill(os.getpid(), 9)
        if what == "deaf":
            while True:
                try:
                    print("step 1/2", flush=True)
                    time.sleep(1)
                except BaseException:
                    pass
        return f"python {sys.version_info.major}"
