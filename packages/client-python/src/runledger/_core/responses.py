"""What responses mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import (
    ApiError,
    ConnectionFailed,
    NotFound,
    RateLimited,
    RunledgerError,
    Unavailable,
    ValidationError,
)
from .effects import Response
from .foreign import UNAVAILABLE, Asked, is_json, is_page, meaning_of

MAX_DETAIL = 500
KINDS: Mapping[int, type[ApiError]] = {404: NotFound, 429: RateLimited, **dict.fromkeys(UNAVAILABLE, Unavailable)}
NO_CONTENT = 204
#: It has no body, and no reason: what the caller has is still so.
NOT_MODIFIED = 304
NEVER_KNOWN = "Use the same release of the client and the service."


def result_of(asked: Asked, response: Response) -> Any:
    """The JSON of a success; None when it has no body. Raises RunledgerError."""
    if not response.body:
        if response.status == NO_CONTENT:
            return None
        raise lost(f"{asked} at {asked.url}: the answer is empty")
    try:
        result = json.loads(response.body)
    except (ValueError, RecursionError):
        if is_json(response) and response.body.lstrip().startswith(b"{"):
            raise lost(f"{asked} at {asked.url}: its JSON is cut off") from None
        raise _foreign_success(asked, response) from None
    # All that Runledger answers is an object.
    if not isinstance(result, dict):
        raise _foreign_success(asked, response)
    return result


def lost(why: str, *, sent: bool = True) -> ConnectionFailed:
    return ConnectionFailed(f"There is no whole response: {why}.", sent=sent)


def no_page(asked: Asked, response: Response) -> Response:
    """The beginning of a success that is no page. Raises RunledgerError."""
    if is_page(response):
        raise _foreign_success(asked, response)
    return response


def _foreign_success(asked: Asked, response: Response) -> RunledgerError:
    return RunledgerError(f"{asked} was answered with {response.status}: {meaning_of(asked, response)}")


def refusal_of(asked: Asked, response: Response) -> ApiError | None:
    """The error that a response stands for; None for a success."""
    status = response.status
    if 200 <= status < 300:
        return None
    body = _body_of(response)
    problems = _problems(body.get("detail"))
    given = _text(body.get("detail"))
    detail = _unsaid(asked, response) if given is None else given[:MAX_DETAIL]
    if problems is not None:
        detail = _listed(problems)
    known: dict[str, Any] = {
        "status": status,
        "detail": detail,
        "code": _text(body.get("code")),
        "request_id": _text(body.get("request_id")) or response.headers.get("x-request-id"),
        "retry_after": _seconds(response.headers.get("retry-after")),
    }
    sentence = _sentence(asked, known, is_list=problems is not None)
    # Only Runledger itself knows that it has no such record.
    if status == 404 and given is None:
        return ApiError(sentence, **known)
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


def _listed(problems: list[Any]) -> str:
    return "\n".join(f"{'.'.join(map(str, each['loc']))}: {each.get('msg')}" for each in problems)


def _unsaid(asked: Asked, response: Response) -> str:
    return "not modified" if response.status == NOT_MODIFIED else meaning_of(asked, response)


def _sentence(asked: Asked, known: Mapping[str, Any], *, is_list: bool) -> str:
    request = "" if known["request_id"] is None else f" (request {known['request_id']})"
    return f"{asked} was refused with {known['status']}:{chr(10) if is_list else ' '}{known['detail']}{request}"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _seconds(retry_after: str | None) -> int | None:
    """The service never sends a date."""
    digits = (retry_after or "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 7 else None
