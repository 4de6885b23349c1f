"""A client for Runledger: `Runledger` with blocking calls, `AsyncRunledger` for `async` code."""

from . import models, operations
from .async_client import AsyncRunledger
from .client import Runledger
from .errors import (
    ApiError,
    ConnectionFailed,
    NotFound,
    RateLimited,
    RunFailed,
    RunledgerError,
    Unavailable,
    ValidationError,
    WebhookInvalid,
)
from .events import FactEvent, LogItem, Progress, ProgressEvent, RunEvent
from .files import File
from .webhooks import verify_webhook

__all__ = [
    "ApiError",
    "AsyncRunledger",
    "ConnectionFailed",
    "FactEvent",
    "File",
    "LogItem",
    "NotFound",
    "Progress",
    "ProgressEvent",
    "RateLimited",
    "RunEvent",
    "RunFailed",
    "Runledger",
    "RunledgerError",
    "Unavailable",
    "ValidationError",
    "WebhookInvalid",
    "models",
    "operations",
    "verify_webhook",
]
