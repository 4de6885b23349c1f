"""Whether and when a request is sent again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import ApiError, ConnectionFailed, RateLimited, RunledgerError, Unavailable

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 8.0
#: Who should wait for longer is told so instead.
LONGEST_RETRY_AFTER_S = 60


@dataclass(frozen=True)
class Retries:
    """`most`: how often a request is sent again at most."""

    most: int
    #: From 0 to 1, so that clients do not come back all at once.
    chance: Callable[[], float] = random.random

    def delay_s(self, error: RunledgerError, failures: int, *, idempotent: bool) -> float | None:
        """Seconds until the next attempt after so many failures in a row; None when there is none."""
        if failures > self.most or not _may_pass(error, idempotent):
            return None
        longest = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** (failures - 1))
        delay: float = longest * (0.5 + self.chance() / 2)
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        if retry_after is None:
            return delay
        return None if retry_after > LONGEST_RETRY_AFTER_S else retry_after + delay


def _may_pass(error: RunledgerError, idempotent: bool) -> bool:
    """A request that is not idempotent is sent again only if nothing of it was carried out."""
    if isinstance(error, RateLimited):
        return True
    if isinstance(error, ConnectionFailed):
        return idempotent or not error.sent
    return isinstance(error, Unavailable) and idempotent
