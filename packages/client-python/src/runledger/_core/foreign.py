"""What an answer means that is not Runledger's, but that of a server in between. The client in TypeScript has the same sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

from ..errors import RunledgerError
from .effects import Request, Response

IS_IT_REACHED = "Check that the gateway of Runledger is running, and that the server in front of it can reach it."
CHECK_URL = (
    "Check that RUNLEDGER_URL (or url) is the address of the API, with its base path such as /api, "
    "and that what is in between lets requests with an API key pass."
)
WAITS_TOO_SHORT = "Let it wait for more than 60 s, because a request may wait that long for a run."

#: Those of 520 and more are Cloudflare's. They pass, so that a request may be sent again.
UNAVAILABLE: Mapping[int, str] = {
    502: f"The server in front of Runledger got no valid answer from it. {IS_IT_REACHED}",
    503: f"The server in front of Runledger says that it is not available. {IS_IT_REACHED}",
    504: f"The server in front of Runledger got no answer from it in time. {WAITS_TOO_SHORT}",
    520: f"Cloudflare got no valid answer from Runledger. {IS_IT_REACHED}",
    521: f"Cloudflare was refused a connection to Runledger. {IS_IT_REACHED}",
    522: f"Cloudflare got no connection to Runledger in time. {IS_IT_REACHED}",
    523: f"Cloudflare finds no way to Runledger. {IS_IT_REACHED}",
    524: f"Cloudflare got no answer from Runledger in time. {WAITS_TOO_SHORT}",
}
OTHERS: Mapping[int, str] = {
    407: "The proxy in between wants a user and a password. "
    "Name them in the setting of the proxy: http://user:password@host:port.",
    413: "The server in front of Runledger takes no request of this size. "
    "Raise its limit, such as client_max_body_size of nginx.",
}
REDIRECTS = frozenset((301, 302, 303, 307, 308))
#: Characters.
LONGEST_QUOTE = 200


@dataclass(frozen=True)
class Asked:
    """A request, for what is said about its answer."""

    method: str
    #: The address of the API, without a slash at the end.
    url: str
    #: After that address, without a query.
    path: str

    def __str__(self) -> str:
        return f"{self.method} {urlsplit(self.url).path}{self.path}"


def asked_by(request: Request, url: str) -> Asked:
    return Asked(request.method, url, request.url.removeprefix(url).split("?", 1)[0])


def meaning_of(asked: Asked, response: Response) -> str:
    """What it means and what to do, for people."""
    if response.status in REDIRECTS:
        return _redirection(asked, response.headers.get("location"))
    return UNAVAILABLE.get(response.status) or OTHERS.get(response.status) or _content(response)


Answer = TypeVar("Answer")


def with_member(answer: Answer, name: str) -> Answer:
    """The answer, when it has this member. What is in between may answer with JSON of its own. Raises RunledgerError."""
    if isinstance(answer, dict) and answer.get(name) is not None:
        return answer
    text = json.dumps(answer)[:LONGEST_QUOTE]
    raise RunledgerError(f'The answer has no {name}, so it is not Runledger\'s: "{text}". {CHECK_URL}')


def _redirection(asked: Asked, location: str | None) -> str:
    try:
        target = urljoin(f"{asked.url}{asked.path}", location or "")
        parts = urlsplit(target)
    except ValueError:
        location = None
    if not location:
        return f"It redirects, and does not say where to. {CHECK_URL}"
    begin = f"It redirects to {target[:LONGEST_QUOTE]}."
    if not parts.path.endswith(asked.path):
        return f"{begin} That is no address of the API: a login page or a proxy is in between. {CHECK_URL}"
    address = f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix(asked.path)}"
    return (
        f"{begin} That is not followed, because the API key is for one address. "
        f"If it is your service, set RUNLEDGER_URL (or url) to {address}."
    )


def _content(response: Response) -> str:
    text = " ".join(response.body.decode(errors="replace").split())
    if is_page(response) or text.startswith("<"):
        found = re.search(r"<title>([^<]*)</title>", text, re.IGNORECASE)
        title = found[1].strip()[:LONGEST_QUOTE] if found else ""
        named = f', "{title}",' if title else ""
        return (
            f"A page (HTML){named} came instead of an answer of Runledger: "
            f"a login page, a proxy or another server is in between. {CHECK_URL}"
        )
    if not text:
        return f"The answer is empty, so it is not Runledger's. {CHECK_URL}"
    return f"The answer is not Runledger's: \"{text[:LONGEST_QUOTE]}\". {CHECK_URL}"


def is_page(response: Response) -> bool:
    return "html" in response.headers.get("content-type", "")


def is_json(response: Response) -> bool:
    return "json" in response.headers.get("content-type", "")
