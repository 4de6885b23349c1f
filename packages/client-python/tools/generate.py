"""
Writes models.py and operations.py of src/runledger/generated from the OpenAPI document: `npm run client:python` calls this
with what it needs. Types come from datamodel-code-generator; an operation is one function, of which
`operation_functions.py` is the text.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from operation_functions import Schema, operations_module

OPTIONS = [
    "--input-file-type=openapi",
    "--openapi-scopes=schemas",
    "--output-model-type=typing.TypedDict",
    "--target-python-version=3.10",
    # What a later release may add to an enum is then a type error at most, and no error of a running program.
    "--enum-field-as-literal=all",
    "--use-union-operator",
    "--use-standard-collections",
    "--use-schema-description",
    "--use-field-description",
    "--disable-timestamp",
    "--formatters=builtin",
]


def head_of(document: Schema) -> str:
    """The first line of both modules. Where the API is served does not count, nor in which order its members come."""
    described = json.dumps({**document, "servers": []}, sort_keys=True).encode()
    digest = hashlib.sha256(described).hexdigest()
    return f"# Made by `npm run client:python` from the OpenAPI document with the SHA-256 {digest}."


def operations_file(document: Schema) -> str:
    return f"{head_of(document)}\n{operations_module(document)}"


def generate(file: Path, folder: Path) -> None:
    document = json.loads(file.read_bytes())
    (folder / "operations.py").write_text(operations_file(document), encoding="utf-8")
    models = folder / "models.py"
    subprocess.run(
        [sys.executable, "-m", "datamodel_code_generator", f"--input={file}", f"--output={models}", *OPTIONS]
        + [f"--custom-file-header={head_of(document)}"],
        check=True,
    )


if __name__ == "__main__":
    generate(Path(sys.argv[1]), Path(sys.argv[2]))
