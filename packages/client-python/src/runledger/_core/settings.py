"""Where the API is, and how it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ..errors import RunledgerError
from .retries import Retries

DEFAULT_TIMEOUT_S = 30.0
DEFAULT_RETRIES = 5


@dataclass(frozen=True)
class Settings:
    #: With the base path, without a slash at the end.
    url: str
    api_key: str = field(repr=False)
    #: Seconds without any data after which a connection counts as lost.
    timeout_s: float
    retries: Retries


def read_settings(
    url: str | None,
    api_key: str | None,
    timeout: float,
    retries: int,
    environment: Mapping[str, str],
) -> Settings:
    """What is not given comes from RUNLEDGER_URL and RUNLEDGER_API_KEY. Raises RunledgerError."""
    address = url or environment.get("RUNLEDGER_URL")
    key = api_key or environment.get("RUNLEDGER_API_KEY")
    if not address or not key:
        missing, setting = ("url", "RUNLEDGER_URL") if not address else ("api_key", "RUNLEDGER_API_KEY")
        raise RunledgerError(
            f"There is no {missing} of Runledger. Give it as {missing}=…, or set {setting}. "
            "A standalone prints both when it starts; connection.json in its data folder has them too."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise RunledgerError("The API key has characters that no key has, such as a line end. Copy it again.")
    if not timeout > 0 or retries < 0:
        raise RunledgerError("timeout is a number of seconds over 0, and retries a number of 0 or more.")
    return Settings(_checked(address), key, timeout, Retries(retries))


def _checked(address: str) -> str:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        # A bracket that is not closed, or a port that is no number.
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise RunledgerError(
            f"{address!r} is not the URL of an API. It has the form http://127.0.0.1:8080/api, with the base path."
        )
    if parts.username or parts.password:
        raise RunledgerError("The URL of the API has a user or a password in it. Give the API key as api_key=….")
    # A standalone and the examples of the documentation have this base path.
    return address.rstrip("/") if parts.path.strip("/") else f"{address.rstrip('/')}/api"
