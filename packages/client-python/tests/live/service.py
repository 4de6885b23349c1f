"""The Runledger that the tests of this folder call: a real one, whose program `render-image` is `program.sh`."""

from __future__ import annotations

import os
from functools import cache
from uuid import uuid4

from runledger import Runledger, operations

DEPLOYMENT = os.environ["RUNLEDGER_TEST_DEPLOYMENT"]

_TRY = uuid4().hex[:8]


def marked(name: str) -> str:
    """The name of something that a test makes at the service, which has what earlier tries made."""
    return f"{name}-{_TRY}"


@cache
def copier() -> str:
    """The deployment of a workflow with a file as its input `photo`, which its output is again."""
    with Runledger() as client:
        workflow = client.call(operations.create_workflow({"name": "copy"}))
        version = client.call(
            operations.create_workflow_version(
                workflow["id"],
                {"workflow": {}, "inputs": [{"name": "photo", "type": "image", "required": True}]},
            )
        )
        machine = client.call(
            operations.create_machine(
                {"name": "copier", "gpu": "A10G", "runner": {"kind": "program", "program": "render-image"}}
            )
        )
        deployment = client.call(
            operations.create_deployment(
                {"name": "copy", "workflow_version_id": version["id"], "machine_id": machine["id"]}
            )
        )
        return deployment["id"]
