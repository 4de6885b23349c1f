"""An operation of the API with its arguments: what the functions of `operations` return and clients carry out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Generic, TypeVar
from urllib.parse import quote, urlencode

from .effects import Body

T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(frozen=True)
class _Operation:
    method: str
    #: Under the URL of the API.
    path: str
    #: What is not None; a list is repeated by its name.
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    #: JSON; None for no body.
    body: object = None
    #: In place of JSON.
    content: bytes | Body | None = None
    #: Whether it may be sent again although its response was lost.
    idempotent: bool = False


@dataclass(frozen=True)
class Operation(_Operation, Generic[T]):
    """Its response is JSON of the type T, or has no body."""


@dataclass(frozen=True)
class Pages(Operation[T], Generic[T, Item]):
    """A page of a list. `client.each` gives the items of all pages."""

    #: The member of the page with its items.
    items: str = ""


@dataclass(frozen=True)
class Stream(_Operation):
    """Its response is read in pieces by `client.stream`."""


def path_of(template: str, **parameters: str) -> str:
    """`/run/{run_id}` with the parameters in the place of their names. Raises ValueError for one that names nothing."""
    for name, value in parameters.items():
        # With these it would be another path.
        if value in ("", ".", ".."):
            raise ValueError(f"{name} is {value!r}, which is no id and no name.")
    return template.format_map({name: quote(value, safe="") for name, value in parameters.items()})


def with_query(path: str, query: Mapping[str, object]) -> str:
    pairs = [
        (name, text_of(each)) for name, value in query.items() if value is not None for each in _each(value)
    ]
    return f"{path}?{urlencode(pairs, quote_via=quote)}" if pairs else path


def headers_of(headers: Mapping[str, object]) -> dict[str, str]:
    """What is not None, as text."""
    return {name: text_of(value) for name, value in headers.items() if value is not None}


def text_of(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return str(value)


def _each(value: object) -> Iterable[object]:
    return value if isinstance(value, (list, tuple, set, frozenset)) else [value]
