"""Runs a function of the folder as a resident program: `python runledger_harness.py predict.py:predict`, started in the folder.

What it takes are the inputs of a run, by their names and annotations; what it returns or yields are the outputs. A class with `predict`, and with
`setup` if it has something to load, works like a function, as Cog has it."""

import asyncio
import importlib.util
import inspect
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, List

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.getcwd()

# What is installed, and what the folder has, comes before what lies beside this file: only these three are always its own.
others = [path for path in sys.path if path not in ("", HERE, FOLDER)]
sys.path[:] = [HERE, *others]
from runledger_inputs import Parameters  # noqa: E402
from runledger_outputs import Outputs  # noqa: E402
from runledger_resident import Cancelled, Context, serve  # noqa: E402


def main(run: str) -> None:
    file, _, name = run.rpartition(":")
    sys.path[:] = list(dict.fromkeys([FOLDER, os.path.join(FOLDER, os.path.dirname(file)).rstrip("/"), *others, HERE]))
    # One loop for all runs: what `setup` opens in it can be used by `predict`.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    function = load(file, name, loop)
    try:
        parameters = Parameters(function, run)
    except TypeError as error:
        raise SystemExit(str(error)) from None

    def one_run(inputs: Any, context: Context) -> None:
        positional, named = parameters.arguments(inputs, context)
        put_out(function(*positional, **named), Outputs(context, run), context, loop)

    serve(one_run)


def load(file: str, name: str, loop: asyncio.AbstractEventLoop) -> Callable[..., Any]:
    """The function, with everything loaded that it needs. Ends the program with a line for people when there is none."""
    target = getattr(import_file(file), name, None)
    if target is None:
        has = names_in(sys.modules[file_module(file)])
        raise SystemExit(
            f"{file} has no `{name}`. It has {', '.join(has) if has else 'no function and no class'}: write one of these behind the colon of `run`."
        )
    if not isinstance(target, type):
        return method_of(target, file, name)
    instance = target()
    setup = getattr(instance, "setup", None)
    if setup is not None:
        # Cog hands over weights here, which none has that names its models itself.
        needed = [each for each in inspect.signature(setup).parameters.values() if each.default is each.empty and each.kind == each.POSITIONAL_OR_KEYWORD]
        made = setup(*[None for _ in needed])
        if inspect.isawaitable(made):
            loop.run_until_complete(made)
    return method_of(instance, file, name)


def method_of(target: Any, file: str, name: str) -> Callable[..., Any]:
    for method in ("predict", "run"):
        found = getattr(target, method, None)
        if callable(found) and not inspect.isroutine(target):
            return found  # type: ignore[no-any-return]
    if not callable(target):
        raise SystemExit(f"`{name}` in {file} is no function, and no class with `predict`: it is of the type {type(target).__name__}.")
    return target  # type: ignore[no-any-return]


def file_module(file: str) -> str:
    """The name that an import of the file has, so that relative imports in it work, and what it defines can be pickled."""
    name = file[: -len(".py")].replace("/", ".")
    return name if all(part.isidentifier() for part in name.split(".")) and not is_taken(name) else "runledger_code"


def is_taken(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and not str(getattr(module, "__file__", "")).startswith(FOLDER + os.sep)


def import_file(file: str) -> ModuleType:
    path = Path(FOLDER, file)
    if not path.is_file():
        has = sorted(str(each.relative_to(FOLDER)) for each in Path(FOLDER).glob("**/*.py"))[:10]
        raise SystemExit(f"There is no file {file} in the folder. Files for Python in it: {', '.join(has) or 'none'}.")
    spec = importlib.util.spec_from_file_location(file_module(file), path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} cannot be imported.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        traceback.print_exc()
        raise SystemExit(f"{file} imports {error.name}, which is not installed: name its package in the requirements of the folder.") from None
    return module


def names_in(module: ModuleType) -> List[str]:
    return [
        name
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def put_out(made: Any, outputs: Outputs, context: Context, loop: asyncio.AbstractEventLoop) -> None:
    """Values of a generator are outputs as they come."""
    if inspect.isawaitable(made):
        made = loop.run_until_complete(until_made(made))
    if hasattr(made, "__anext__"):
        loop.run_until_complete(put_out_each(made, outputs, context))
    elif hasattr(made, "__next__") and not hasattr(made, "read"):
        for value in made:
            outputs.add(value)
            check(context)
    else:
        outputs.add(made)


async def until_made(made: Any) -> Any:
    return await made


async def put_out_each(made: Any, outputs: Outputs, context: Context) -> None:
    async for value in made:
        outputs.add(value)
        check(context)


def check(context: Context) -> None:
    if context.cancelled.is_set():
        raise Cancelled("cancelled")


if __name__ == "__main__":
    main(sys.argv[1])
