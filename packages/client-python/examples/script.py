"""
Runs a deployment and prints its progress, its log and the addresses of its output files.

    export RUNLEDGER_URL=http://127.0.0.1:8080/api RUNLEDGER_API_KEY=rl_…
    python script.py DEPLOYMENT palette=ember photo=@fox.png
"""

import json
import sys
from pathlib import Path

from runledger import RunFailed, Runledger


def value_of(text: str):
    """`@fox.png` is a file; what is JSON is that, and all else is text."""
    if text.startswith("@"):
        return Path(text[1:])
    try:
        return json.loads(text)
    except ValueError:
        return text


def main(deployment: str, *arguments: str) -> int:
    inputs = {name: value_of(text) for name, _, text in (each.partition("=") for each in arguments)}
    with Runledger() as client:
        try:
            run = client.run(
                deployment,
                inputs,
                on_progress=lambda now: print(f"{now.status} {now.progress:.0%} {now.live_status or ''}"),
                on_log=lambda item: print(f"  {item.get('line') or item.get('notice') or '…'}"),
            )
        except RunFailed as failed:
            print(failed, file=sys.stderr)
            return 1
    for output in run["outputs"]:
        for items in output["data"].values():
            for item in items:
                print(item if isinstance(item, str) else item["url"])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
