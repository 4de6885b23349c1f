"""The inputs of a run as a function takes them, by its annotations."""

import collections.abc
import enum
import inspect
import io
import json
import pathlib
import sys
import types
import typing
from typing import Any, Callable, Dict, List, Mapping, Tuple, Union

from runledger_resident import Context, RunFailed

NOTHING = inspect.Parameter.empty
NONE = type(None)
UNIONS = (Union, getattr(types, "UnionType", Union))
LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection, collections.abc.MutableSequence)


class Unfit(Exception):
    """What the value must be, as what follows "must be"."""


class Parameters:
    """What a function takes. Raises TypeError, with words for people, for annotations that cannot be read."""

    def __init__(self, function: Callable[..., Any], run: str):
        self._run = run
        self._context: List[str] = []
        self._takes: Dict[str, inspect.Parameter] = {}
        self._takes_others = False
        names = names_of(function)
        for parameter in signature_of(function).parameters.values():
            if parameter.kind == parameter.VAR_KEYWORD:
                self._takes_others = True
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            hint = read_annotation(parameter, names, run)
            default = default_of(parameter.default)
            # The definition of such an input says that a run need not have it.
            default = None if default is NOTHING and takes_none(hint) else default
            self._takes[parameter.name] = parameter.replace(annotation=hint, default=default)
            if is_context(parameter.name, hint):
                self._context.append(parameter.name)

    def arguments(self, inputs: Mapping[str, Any], context: Context) -> Tuple[List[Any], Dict[str, Any]]:
        """Raises RunFailed when the inputs are not what the function takes."""
        wanted = [name for name in self._takes if name not in self._context]
        unknown = [name for name in inputs if name not in wanted]
        if unknown and not self._takes_others:
            takes = f"It takes {', '.join(wanted)}." if wanted else "It takes no inputs."
            raise RunFailed(f"{self._run} takes no input of the name {', '.join(unknown)}. {takes}", retryable=False)
        given = {name: inputs[name] for name in unknown}
        missing, positional = [], []
        for name, parameter in self._takes.items():
            if name in self._context:
                value = context
            elif name in inputs and not (inputs[name] is None and parameter.default is not NOTHING):
                value = self._value(name, inputs[name], parameter.annotation, context)
            elif parameter.default is not NOTHING:
                value = parameter.default
            else:
                missing.append(name)
                continue
            if parameter.kind == parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                given[name] = value
        if missing:
            raise RunFailed(f"{self._run} needs the input {', '.join(missing)}, which the run does not have.", retryable=False)
        return positional, given

    def _value(self, name: str, value: Any, hint: Any, context: Context) -> Any:
        try:
            return converted(value, hint, context.input_dir)
        except Unfit as unfit:
            raise RunFailed(f"The input {name} of {self._run} must be {unfit}, and is {in_words(value)}.", retryable=False) from None


def is_context(name: str, hint: Any) -> bool:
    """A parameter `context` with the annotation of a value is an input, as of a model that answers questions about a text."""
    return getattr(hint, "__name__", None) == "Context" or (name == "context" and hint is NOTHING)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    if sys.version_info < (3, 14):
        return inspect.signature(function)
    import annotationlib

    # What only its result has in its annotation may be imported for a checker of types only.
    return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)


def names_of(function: Any) -> Dict[str, Any]:
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not inspect.isroutine(function):
        function = getattr(type(function).__call__, "__func__", type(function).__call__)
    return getattr(function, "__globals__", {})


def read_annotation(parameter: inspect.Parameter, names: Dict[str, Any], run: str) -> Any:
    if parameter.annotation is NOTHING:
        return NOTHING
    holder = types.SimpleNamespace(__annotations__={"it": parameter.annotation})
    try:
        return typing.get_type_hints(holder, globalns=names)["it"]
    except Exception as error:
        version = ".".join(str(part) for part in sys.version_info[:2])
        raise TypeError(
            f"The annotation of {parameter.name} in {run}, {parameter.annotation!r}, cannot be read by Python {version}: {error}. "
            "Import what it names, and write Optional[X] for `X | None` before Python 3.10."
        ) from None


def default_of(default: Any) -> Any:
    """Cog's Input(…) has the default in it. Cog itself says None for an input without one, too: whether a run must have it is in its definition."""
    if type(default).__name__ != "FieldInfo":
        return default
    value = default.default
    return NOTHING if value is Ellipsis or type(value).__name__ == "PydanticUndefinedType" else value


def takes_none(hint: Any) -> bool:
    return typing.get_origin(hint) in UNIONS and NONE in typing.get_args(hint)


def converted(value: Any, hint: Any, input_dir: pathlib.Path) -> Any:
    """The value as the annotation says it. Raises Unfit. A hint that nobody here knows changes nothing."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint in (NOTHING, Any, object):
        return value
    if origin in UNIONS:
        return of_union(value, args, input_dir)
    if hint in (None, NONE):
        return checked(value, value is None, "null")
    if origin is typing.Literal:
        return one_of(value, {each: each for each in args}, args)
    if origin is not None and getattr(hint, "__metadata__", None) is not None:
        return converted(value, args[0], input_dir)
    if origin in LISTS or hint in LISTS:
        return [converted(each, args[0] if args else Any, input_dir) for each in a_list(value)]
    if origin in (set, frozenset) or hint in (set, frozenset):
        return (origin or hint)(converted(each, args[0] if args else Any, input_dir) for each in a_list(value))
    if origin is tuple or hint is tuple:
        hints = args if args and args[-1] is not Ellipsis else (args[:1] or (Any,)) * len(a_list(value))
        checked(value, len(hints) == len(a_list(value)), f"a list of {len(hints)} values")
        return tuple(converted(each, its, input_dir) for each, its in zip(value, hints))
    if origin in (dict, collections.abc.Mapping) or hint is dict:
        checked(value, isinstance(value, dict), "an object")
        return {key: converted(each, args[1] if args else Any, input_dir) for key, each in value.items()}
    return converted(value, hint.__supertype__, input_dir) if hasattr(hint, "__supertype__") else of_class(value, hint, input_dir)


def of_class(value: Any, hint: Any, input_dir: pathlib.Path) -> Any:
    if not isinstance(hint, type):
        return value
    if hint is bool:
        return checked(value, isinstance(value, bool), "true or false")
    if hint is int:
        return whole(value)
    if hint is float:
        return checked(float(value) if is_number(value) else value, is_number(value), "a number")
    if hint is str:
        return checked(value, isinstance(value, str), "a text")
    if issubclass(hint, enum.Enum):
        return one_of(value, {**hint.__members__, **{each.value: each for each in hint}}, [each.value for each in hint])
    if issubclass(hint, pathlib.PurePath):
        return hint(a_file(value, input_dir))
    if issubclass(hint, io.IOBase) or hint in (typing.BinaryIO, typing.IO):
        return open(a_file(value, input_dir), "rb")
    if hasattr(hint, "get_secret_value"):
        return hint(checked(value, isinstance(value, str), "a text"))
    if hasattr(hint, "model_validate"):
        try:
            return hint.model_validate(value)
        except ValueError as error:
            raise Unfit(f"what {hint.__name__} takes ({error})") from None
    return value


def of_union(value: Any, hints: Tuple[Any, ...], input_dir: pathlib.Path) -> Any:
    # A text that is no file must not lose against a path, and true is no number.
    exact = [hint for hint in hints if isinstance(hint, type) and type(value) is hint]
    paths = [hint for hint in hints if isinstance(hint, type) and issubclass(hint, pathlib.PurePath)]
    words = []
    for hint in [*paths, *exact, *[each for each in hints if each is not NONE], *[each for each in hints if each is NONE]]:
        try:
            return converted(value, hint, input_dir)
        except Unfit as unfit:
            words.append(str(unfit))
    raise Unfit(" or ".join(dict.fromkeys(words)))


def a_file(value: Any, input_dir: pathlib.Path) -> str:
    """The absolute path of a file of the run. Nothing else is one, whatever a text says."""
    if isinstance(value, str):
        path = input_dir.absolute() / value
        if path.is_file() and input_dir.resolve() in path.resolve().parents:
            return str(path)
    raise Unfit("a file of the run (the definition of the input must have the type file)")


def whole(value: Any) -> int:
    if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 400:
        return int(value)  # an integer that a double would change may come as its digits
    checked(value, is_number(value) and value == value and abs(value) != float("inf") and int(value) == value, "a whole number")
    return int(value)


def a_list(value: Any) -> List[Any]:
    return checked(value, isinstance(value, list), "a list")  # type: ignore[no-any-return]


def one_of(value: Any, values: Mapping[Any, Any], shown: Any) -> Any:
    for each, meant in values.items():
        if each == value and isinstance(each, bool) == isinstance(value, bool):
            return meant
    raise Unfit("one of " + ", ".join(json.dumps(each, default=str) for each in shown))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def checked(value: Any, fits: bool, words: str) -> Any:
    if not fits:
        raise Unfit(words)
    return value


def in_words(value: Any) -> str:
    """Never the value itself: it may be secret."""
    if value is None:
        return "null"
    kinds = {bool: "true or false", str: "a text", int: "a whole number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), "something else")
