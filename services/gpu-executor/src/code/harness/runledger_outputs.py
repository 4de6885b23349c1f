"""What a function returns or yields as the outputs of its run."""

import dataclasses
import enum
import os
import shutil
import tempfile
from pathlib import Path, PurePath
from typing import Any, Dict, List

from runledger_resident import Context, RunFailed


class Outputs:
    """Values that JSON has go to the executor as they come. Files, pictures and bytes go to the output folder."""

    def __init__(self, context: Context, run: str):
        self._context = context
        self._run = run
        # A file that is returned twice is one output.
        self._names: Dict[str, str] = {}

    def add(self, value: Any) -> None:
        values = value if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") else [value]
        plain: List[Any] = []
        for each in values:
            files: List[str] = []
            made = self._plain(each, files)
            if is_more_than(files, made):
                plain.append(made)
        # A function that returns nothing has made none.
        if plain and not (plain == [None] and values == [value]):
            self._context.output(*plain)

    def _plain(self, value: Any, files: List[str]) -> Any:
        """The value as JSON has it: a file in it is its name in the output folder."""
        if value is None or isinstance(value, (str, bool, int, float)) and not isinstance(value, enum.Enum):
            return value
        if isinstance(value, enum.Enum):
            return self._plain(value.value, files)
        if isinstance(value, dict):
            return {str(key): self._plain(each, files) for key, each in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self._plain(each, files) for each in value]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {each.name: self._plain(getattr(value, each.name), files) for each in dataclasses.fields(value)}
        if callable(getattr(value, "model_dump", None)):
            return self._plain(value.model_dump(), files)
        name = self._file(value)
        if name is not None:
            files.append(name)
            return name
        # What numpy and torch have for numbers.
        if callable(getattr(value, "tolist", None)):
            return self._plain(value.tolist(), files)
        raise RunFailed(
            f"{self._run} made a {type(value).__module__}.{type(value).__name__}, which is no output. "
            "Return a text, a number, a list or dict of them, a Path, bytes or a picture of PIL.",
            retryable=False,
        )

    def _file(self, value: Any) -> "str | None":
        """Its name, when the value is a file or is to become one."""
        if isinstance(value, PurePath):
            return self._existing(Path(value))
        if isinstance(value, (bytes, bytearray, memoryview)):
            path = self._free("output.bin")
            path.write_bytes(value)
        elif callable(getattr(value, "read", None)):
            named = getattr(value, "name", None)
            path = self._free(os.path.basename(named) if isinstance(named, str) else "output.bin")
            content = value.read()
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        elif callable(getattr(value, "save", None)):
            path = self._free("output.png")
            value.save(str(path))
        else:
            return None
        return path.name

    def _existing(self, path: Path) -> str:
        found = path.resolve()
        folder = self._context.output_dir.resolve()
        if str(found) in self._names:
            return self._names[str(found)]
        if not found.exists():
            raise RunFailed(f"{self._run} returned the path {path}, and there is no such file.", retryable=False)
        if folder == found or folder in found.parents:
            return found.relative_to(folder).as_posix()
        to = self._free(found.name)
        if found.is_dir():
            shutil.copytree(found, to)
        elif self._is_temporary(found):
            shutil.move(str(found), str(to))
        else:
            shutil.copyfile(found, to)
        self._names[str(found)] = to.name
        return to.name

    def _is_temporary(self, path: Path) -> bool:
        """What stays there would fill the disk, run by run. Files of the folder, and of the inputs, are not the run's to take."""
        kept = [Path.cwd(), self._context.input_dir.resolve()]
        return Path(tempfile.gettempdir()).resolve() in path.parents and not any(each in path.parents for each in kept)

    def _free(self, name: str) -> Path:
        folder, (stem, extension) = self._context.output_dir, os.path.splitext(name)
        path, number = folder / name, 2
        while path.exists():
            path, number = folder / f"{stem}-{number}{extension}", number + 1
        return path


def is_more_than(files: List[str], made: Any) -> bool:
    """Whether something else than files is in a value."""
    if isinstance(made, dict):
        return not made or any(is_more_than(files, each) for each in made.values())
    if isinstance(made, list):
        return not made or any(is_more_than(files, each) for each in made)
    return not files or not isinstance(made, str) or made not in files
