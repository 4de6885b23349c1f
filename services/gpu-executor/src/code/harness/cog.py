"""What a predictor of Cog imports, for a folder that does not install `cog` itself: then this file is never found."""

import dataclasses
import io
import pathlib
from typing import Any, AsyncIterator, Iterator, Optional, TypeVar

Value = TypeVar("Value")


class BasePredictor:
    def setup(self) -> None:
        """Loads what all runs need."""


class BaseRunner(BasePredictor):
    """Its method is `run`."""


@dataclasses.dataclass(frozen=True)
class FieldInfo:
    """An input that has no default."""

    default: Any = ...


def Input(default: Any = ..., **about: Any) -> Any:
    """The default. What else it says, such as `ge` and `choices`, is in the definitions of the inputs, which were read when the folder was sent."""
    return FieldInfo() if default is ... else default


class Path(type(pathlib.Path())):  # type: ignore[misc]
    pass


class File(io.IOBase):
    pass


@dataclasses.dataclass(frozen=True)
class Secret:
    secret_value: Optional[str] = None

    def __repr__(self) -> str:
        return f"Secret({self})"

    def __str__(self) -> str:
        return "" if self.secret_value is None else "**********"

    def get_secret_value(self) -> Optional[str]:
        return self.secret_value


class BaseModel:
    """Each class below it is a dataclass."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__()
        dataclasses.dataclass(cls)


class ConcatenateIterator(Iterator[Value]):
    pass


class AsyncConcatenateIterator(AsyncIterator[Value]):
    pass
