from __future__ import annotations

import json
import os
import re
import sys
import unittest
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import generate  # noqa: E402

REMEDY = "Run `npm run docs`, then `npm run client:python`, and commit what they change."


UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def without_ids(document: Any) -> str:
    """A standalone shows the ids of its sample as examples, and its own address."""
    return UUID.sub("an id", json.dumps({**document, "servers": []}, sort_keys=True))


class TheGeneratedModules(unittest.TestCase):
    document: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.document = json.loads((ROOT.parent.parent / "docs" / "openapi.json").read_text(encoding="utf-8"))

    def test_are_made_from_what_the_service_serves(self) -> None:
        served = httpx.get(f"{os.environ['RUNLEDGER_URL']}/openapi.json").json()
        self.assertTrue(without_ids(served) == without_ids(self.document), REMEDY)

    def module(self, name: str) -> str:
        return (ROOT / "src" / "runledger" / "generated" / name).read_text(encoding="utf-8")

    def test_have_the_operations_that_the_service_describes(self) -> None:
        self.assertTrue(self.module("operations.py") == generate.operations_file(self.document), REMEDY)

    def test_have_the_types_that_the_service_describes(self) -> None:
        self.assertEqual(self.module("models.py").splitlines()[0], generate.head_of(self.document), REMEDY)
