"""The text of operations.py: for each operation of the OpenAPI document a function that takes its arguments."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

HEAD = '''"""
The operations of the run API. A function checks and sends nothing: `client.call(operations.list_machines())` does, and
`client.each` gives the items of all pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Literal

from .._core.operation import Operation, Pages, Stream, headers_of, path_of
from . import models
'''

JSON = "application/json"
RAW_BODY = "content: bytes"
#: Sent for each repetition of a request, so that it is carried out once.
IDEMPOTENCY_KEY = "Idempotency-Key"


@dataclass(frozen=True)
class Parameter:
    name: str
    #: In the document.
    sent_as: str
    source: str
    type: str
    required: bool
    description: str


def operations_module(document: Schema) -> str:
    named = document["components"]["schemas"]
    functions = [
        function_of(method, path, operation, named)
        for path, methods in sorted(document["paths"].items())
        for method, operation in sorted(methods.items())
    ]
    return "\n\n".join([HEAD, *functions])


def function_of(method: str, path: str, operation: Schema, named: Schema) -> str:
    parameters = [parameter_of(each) for each in operation.get("parameters", [])]
    body = body_of(operation)
    positional = [f"{each.name}: str" for each in parameters if each.source == "path"] + ([body] if body else [])
    keywords = [keyword_of(each) for each in parameters if each.source != "path"]
    if body == RAW_BODY:
        keywords.append('content_type: str = "application/octet-stream"')
    arguments = positional + (["*", *keywords] if keywords else [])
    kind, items = result_of(operation, named)
    name = snake(operation["operationId"])
    signature = [f"def {name}(", *[f"    {argument}," for argument in arguments], f") -> {kind}:"]
    lines = [
        *(signature if arguments else [f"def {name}() -> {kind}:"]),
        *docstring(operation, parameters),
        *returned(method, path, operation, parameters, kind.split("[")[0], items),
    ]
    return "\n".join(lines) + "\n"


def parameter_of(parameter: Schema) -> Parameter:
    return Parameter(
        name=snake(parameter["name"]),
        sent_as=parameter["name"],
        source=parameter["in"],
        type=type_of(parameter["schema"]),
        required=parameter["required"],
        description=parameter.get("description") or "",
    )


def keyword_of(parameter: Parameter) -> str:
    return f"{parameter.name}: {parameter.type}" + ("" if parameter.required else " | None = None")


def type_of(schema: Schema) -> str:
    """The type of a parameter. Raises KeyError for a form that no parameter has yet."""
    if "$ref" in schema:
        return f"models.{schema['$ref'].rsplit('/', 1)[1]}"
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    if "anyOf" in schema:
        return "str | date | datetime"
    if schema["type"] == "array":
        items = type_of(schema["items"])
        return f"{items} | Sequence[{items}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[schema["type"]]


def body_of(operation: Schema) -> str | None:
    request = operation.get("requestBody")
    if request is None:
        return None
    if JSON not in request["content"]:
        return RAW_BODY
    type_ = type_of(request["content"][JSON]["schema"])
    return f"body: {type_}" if request["required"] else f"body: {type_} | None = None"


def result_of(operation: Schema, named: Schema) -> tuple[str, str | None]:
    """What a function returns, and the member of a page with its items."""
    success = next(response for status, response in operation["responses"].items() if status.startswith("2"))
    content = success.get("content")
    if content is None:
        return "Operation[None]", None
    if JSON not in content:
        return "Stream", None
    name = content[JSON]["schema"]["$ref"].rsplit("/", 1)[1]
    members = named[name].get("properties", {})
    lists = {member: each["items"] for member, each in members.items() if each.get("type") == "array"}
    if operation["operationId"].startswith("list") and "next_cursor" in members:
        # An item beside which others are listed, such as unknown runs, is an object.
        [(items, schema)] = [(member, each) for member, each in lists.items() if "$ref" in each]
        return f"Pages[models.{name}, {type_of(schema)}]", items
    return f"Operation[models.{name}]", None


def docstring(operation: Schema, parameters: list[Parameter]) -> list[str]:
    paragraphs = [f"{operation['summary']}.", *operation["description"].split("\n\n")]
    described = [f"{each.name}: {each.description}" for each in parameters if each.description]
    wrapped = "\n\n".join([*map(fill, paragraphs), *(["\n".join(map(fill, described))] if described else [])])
    return textwrap.indent(f'"""\n{wrapped}\n"""', "    ").replace("\\", "\\\\").split("\n")


def fill(text: str) -> str:
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def returned(
    method: str, path: str, operation: Schema, parameters: list[Parameter], kind: str, items: str | None
) -> list[str]:
    """The call that makes the operation."""

    def given(source: str) -> list[Parameter]:
        return [each for each in parameters if each.source == source]

    def mapping(source: str, **more: str) -> str:
        pairs = {each.sent_as: each.name for each in given(source)} | more
        return "{" + ", ".join(f'"{sent_as}": {name}' for sent_as, name in pairs.items()) + "}"

    names = "".join(f", {each.name}={each.name}" for each in given("path"))
    filled = f'path_of("{path}"{names})' if names else f'"{path}"'
    arguments = [f'"{method.upper()}"']
    arguments.append(filled)
    if given("query"):
        arguments.append(f"query={mapping('query')}")
    request = operation.get("requestBody", {}).get("content", {})
    is_raw = bool(request) and JSON not in request
    if given("header") or is_raw:
        sent = mapping("header", **({"Content-Type": "content_type"} if is_raw else {}))
        arguments.append(f"headers=headers_of({sent})")
    if request:
        arguments.append("content=content" if is_raw else "body=body")
    if any(each.sent_as == IDEMPOTENCY_KEY for each in parameters):
        arguments.append("idempotent=idempotency_key is not None")
    elif method == "get":
        arguments.append("idempotent=True")
    if items is not None:
        arguments.append(f'items="{items}"')
    return [f"    return {kind}(", *[f"        {argument}," for argument in arguments], "    )"]


def snake(name: str) -> str:
    """`queueRun`, `Last-Event-ID` and `run_id` as names of Python."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace("-", "_")).lower().replace("__", "_")
