"""Checks notifications, as Standard Webhooks prescribes: https://github.com/standard-webhooks/standard-webhooks"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from .errors import WebhookInvalid

if TYPE_CHECKING:
    from .models import WebhookPayload

#: From Standard Webhooks: what is older may be a replay.
TOLERANCE_S = 300
PREFIX = "whsec_"


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    tolerance_s: float = TOLERANCE_S,
    now: float | None = None,
) -> WebhookPayload:
    """
    The notification, if one of the secrets signed it. Raises WebhookInvalid otherwise, and ValueError for a secret that is
    none.

    `body`: exactly the bytes that arrived, not JSON that was read and written again. `secrets`: one, or the present and the
    former one while it is rotated. `now`: seconds since 1970, the clock's when it is not given. A notification may arrive
    more than once, always with the same header `webhook-id`.
    """
    content = body.encode() if isinstance(body, str) else bytes(body)
    received = {name.lower(): value for name, value in headers.items()}
    message_id, sent_at, signatures = (_header(received, name) for name in ("id", "timestamp", "signature"))
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("There is no secret to check the notification with.")
    if not any(_is_signed(f"{message_id}.{sent_at}.".encode() + content, key, signatures) for key in keys):
        raise WebhookInvalid("None of the secrets made the signature: another secret, or a body that was changed.")
    if abs((time.time() if now is None else now) - _seconds(sent_at)) > tolerance_s:
        raise WebhookInvalid(f"The notification was signed more than {tolerance_s:g} s ago or ahead.")
    return _payload(content)


def _header(received: Mapping[str, str], name: str) -> str:
    value = received.get(f"webhook-{name}")
    if not isinstance(value, str) or not value:
        raise WebhookInvalid(f"The header webhook-{name} is missing.")
    return value


def _is_signed(signed: bytes, key: bytes, signatures: str) -> bool:
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    # All are compared, so that the time tells nothing.
    return any([hmac.compare_digest(expected, given.encode()) for given in signatures.split(" ")])


def _seconds(sent_at: str) -> int:
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) <= 12):
        raise WebhookInvalid("The header webhook-timestamp is no number of seconds.")
    return int(sent_at)


def _key(secret: str) -> bytes:
    """Its errors never quote the secret."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not 24 <= len(key) <= 64:
        raise ValueError(f'A signing secret is "{PREFIX}" and 24 to 64 bytes in base64. This one is not.')
    return key


def _payload(content: bytes) -> WebhookPayload:
    try:
        payload = json.loads(content)
    except ValueError:
        payload = None
    if not isinstance(payload, dict) or "run_id" not in payload or "status" not in payload:
        raise WebhookInvalid("The body is signed, and is no notification of a run.")
    return cast("WebhookPayload", payload)
