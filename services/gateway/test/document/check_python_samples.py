"""Checks that samples call functions of the client that exist: `check_python_samples.py SOURCE_OF_CLIENT FOLDER`."""

import ast
import sys
from pathlib import Path


def functions(module: Path) -> dict[str, ast.arguments]:
    """The functions of a module by name, and the methods of its classes by `Class.name`."""
    found = {}
    for node in ast.parse(module.read_text()).body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for each in members:
            if isinstance(each, ast.FunctionDef):
                found[prefix + each.name] = each.args
    return found


def check(call: ast.Call, arguments: ast.arguments, skipped: int) -> str | None:
    places = [each.arg for each in arguments.args][skipped:]
    required = places[: len(places) - len(arguments.defaults)]
    keywords = {each.arg for each in call.keywords}
    taken = [*places[: len(call.args)], *keywords]
    if len(call.args) > len(places) or not set(required) <= set(taken):
        return f"takes {places}"
    more = keywords - {each.arg for each in arguments.kwonlyargs} - set(places)
    if more and arguments.kwarg is None:
        return f"has no {more}"
    needed = [each.arg for each, given in zip(arguments.kwonlyargs, arguments.kw_defaults) if given is None]
    return None if set(needed) <= keywords else f"needs {needed}"


def wrong_in(source: str, known: dict[str, tuple[ast.arguments, int]]) -> list[str]:
    problems = []
    calls = 0
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if not name.startswith(("client.", "operations.")):
            continue
        calls += 1
        if name not in known:
            problems.append(f"there is no {name}")
        elif problem := check(node, *known[name]):
            problems.append(f"{name} {problem}")
    return problems if calls else ["it calls nothing"]


def main(client: Path, samples: Path) -> None:
    known = {f"operations.{name}": (each, 0) for name, each in functions(client / "generated/operations.py").items()}
    places = {"Runledger": "client", "Runs": "client.runs", "Files": "client.files"}
    for name, each in functions(client / "client.py").items():
        owner, _, method = name.partition(".")
        if owner in places:
            known[f"{places[owner]}.{method}"] = (each, 1)
    files = sorted(samples.glob("*.py"))
    for file in files:
        for problem in wrong_in(file.read_text(), known):
            print(f"{file.stem}: {problem}")
    print(f"{len(files)} samples")


main(*map(Path, sys.argv[1:]))
