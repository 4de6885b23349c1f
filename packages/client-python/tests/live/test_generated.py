from __future__ import annotations

import json
import os
import sys
import unittest
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import generate  # noqa: E402

REMEDY = "Run `npm run docs`, then `npm run client:python`, and commit what they change."


class TheGeneratedModules(unittest.TestCase):
    document: Any

    @classmethod
    def setUpClass(cls) -> None:
        served = httpx.get(f"{os.environ['RUNLEDGER_URL']}/openapi.json").json()
        written = json.loads((ROOT.parent.parent / "docs" / "openapi.json").read_text(encoding="utf-8"))
        # A standalone shows the ids of its sample as examples, so only the operations are compared.
        assert served["paths"].keys() == written["paths"].keys(), REMEDY
        cls.document = written

    def module(self, name: str) -> str:
        return (ROOT / "src" / "runledger" / name).read_text(encoding="utf-8")

    def test_have_the_operations_that_the_service_describes(self) -> None:
        self.assertTrue(self.module("operations.py") == generate.operations_file(self.document), REMEDY)

    def test_have_the_types_that_the_service_describes(self) -> None:
        self.assertEqual(self.module("models.py").splitlines()[0], generate.head_of(self.document), REMEDY)
