"""What responses mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import ApiError, NotFound, RateLimited, RunledgerError, Unavailable, ValidationError
from .effects import Response

#: A proxy may answer with a page.
MAX_DETAIL = 500
KINDS: Mapping[int, type[ApiError]] = {
    404: NotFound,
    429: RateLimited,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
NEVER_KNOWN = "Use the same release of the client and the service."


def result_of(response: Response) -> Any:
    """The JSON of a success; None when it has no body. Raises RunledgerError."""
    if not response.body:
        return None
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError):
        raise RunledgerError(f"The service answered with something that is no JSON. {NEVER_KNOWN}") from None


def refusal_of(about: str, response: Response) -> ApiError | None:
    """The error that a response stands for; None for a success. `about`: what was requested, for people."""
    status = response.status
    if 200 <= status < 300:
        return None
    body = _body_of(response)
    problems = _problems(body.get("detail"))
    known: dict[str, Any] = {
        "status": status,
        "detail": _detail(body.get("detail"), problems),
        "code": _text(body.get("code")),
        "request_id": _text(body.get("request_id")) or response.headers.get("x-request-id"),
        "retry_after": _seconds(response.headers.get("retry-after")),
    }
    sentence = _sentence(about, known, is_list=problems is not None)
    if status == 422:
        return ValidationError(sentence, problems=problems or [], **known)
    return KINDS.get(status, ApiError)(sentence, **known)


def _body_of(response: Response) -> Mapping[str, Any]:
    # A proxy in front of the service may answer with anything.
    try:
        body = json.loads(response.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _problems(detail: object) -> list[Any] | None:
    if not isinstance(detail, list):
        return None
    return [each for each in detail if isinstance(each, dict) and isinstance(each.get("loc"), list)]


def _detail(detail: object, problems: list[Any] | None) -> str:
    if problems is not None:
        return "\n".join(f"{'.'.join(map(str, each['loc']))}: {each.get('msg')}" for each in problems)
    return detail[:MAX_DETAIL] if isinstance(detail, str) else "no reason given"


def _sentence(about: str, known: Mapping[str, Any], *, is_list: bool) -> str:
    request = "" if known["request_id"] is None else f" (request {known['request_id']})"
    return f"{about} was refused with {known['status']}:{chr(10) if is_list else ' '}{known['detail']}{request}"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _seconds(retry_after: str | None) -> int | None:
    """The service never sends a date."""
    digits = (retry_after or "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 7 else None
