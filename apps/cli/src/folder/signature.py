"""Reads what a function takes, without importing it: {"source", "function"} from standard input, and to standard output {"inputs"} with the
definitions of its inputs, or {"error", "line"} with what to write instead. For Python 3.9 and later, and nothing else."""

import ast
import json
import re
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
FILES = {"Path", "PosixPath", "FilePath", "File", "URLPath", "BinaryIO", "IOBase"}
SECRETS = {"Secret", "SecretStr"}
LISTS = {"list", "List", "Sequence", "Iterable", "Collection", "MutableSequence", "set", "Set", "frozenset", "FrozenSet", "tuple", "Tuple"}
# No type of an input says what is in an object: such an input has no definition, and the function gets what a run has.
WITHOUT_DEFINITION = {"dict", "Dict", "Mapping", "Any", "object"}
ENUMS = {"Enum", "IntEnum", "StrEnum"}
FIELDS = {"Input", "Field"}
BOUNDS = {"ge": "minimum", "gt": "minimum", "le": "maximum", "lt": "maximum"}
ITEMS = {"min_length": "min_items", "max_length": "max_items"}
MAX_DESCRIPTION = 1024
MAX_EXACT = 2**53 - 1
NOT_GIVEN = object()


class Problem(Exception):
    def __init__(self, message: str, node: Optional[ast.AST]):
        super().__init__(message)
        self.line = getattr(node, "lineno", None)


class NoLiteral(Exception):
    pass


class Shape(NamedTuple):
    """What an annotation says. Without a type the input has no definition."""

    type: Optional[str]
    may_be_none: bool = False
    secret: bool = False
    enum: Optional[List[Any]] = None
    fields: Tuple[ast.Call, ...] = ()
    description: Optional[str] = None


class Source:
    """The names of a file, as far as it says itself what they are."""

    def __init__(self, source: str):
        self.functions: Dict[str, Any] = {}
        self.classes: Dict[str, ast.ClassDef] = {}
        self.values: Dict[str, ast.expr] = {}
        self.imported: Dict[str, str] = {}
        changed = set()
        for node in statements(ast.parse(source).body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions[node.name] = node
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for each in node.names:
                    self.imported[each.asname or each.name] = each.name
            for target in targets(node):
                if target in self.values:
                    changed.add(target)
                elif node.value is not None:
                    self.values[target] = node.value
        # What is set twice is known only when it runs.
        self.values = {name: value for name, value in self.values.items() if name not in changed}

    def name(self, node: ast.expr) -> str:
        """The last part of a dotted name, as where it comes from calls it: `Path` for `pathlib.Path`, and for an import with another name."""
        if isinstance(node, ast.Attribute):
            return node.attr
        return self.imported.get(node.id, node.id).split(".")[-1] if isinstance(node, ast.Name) else ""

    def literal(self, node: ast.expr) -> Any:
        """The value that an expression has in every run. Raises NoLiteral."""
        if isinstance(node, ast.Constant) and not isinstance(node.value, (bytes, complex)) and node.value is not Ellipsis:
            return finite(node.value)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return [self.literal(each) for each in node.elts]
        if isinstance(node, ast.Dict) and None not in node.keys:
            return {self.literal(key): self.literal(value) for key, value in zip(node.keys, node.values) if key is not None}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = number(self.literal(node.operand))
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            return calculated(node.op, self.literal(node.left), self.literal(node.right))
        if isinstance(node, ast.Name) and node.id in self.values:
            # A name that is not its own value, as after `x = x`.
            value = self.values.pop(node.id)
            try:
                return self.literal(value)
            finally:
                self.values[node.id] = value
        if isinstance(node, ast.Attribute):
            if node.attr == "value":
                node = node.value  # type: ignore[assignment]
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self.classes:
                members = self.members(self.classes[node.value.id])
                if members is not None and node.attr in members:
                    return self.literal(members[node.attr])
        if isinstance(node, ast.Call) and not node.keywords:
            return self.listed(node)
        raise NoLiteral

    def listed(self, call: ast.Call) -> List[Any]:
        """`list(X)`, `sorted(X)`, `tuple(X)` and `X.keys()`, where the keys are known and the values need not be."""
        function = call.func
        if isinstance(function, ast.Name) and function.id in ("list", "tuple", "sorted") and len(call.args) == 1:
            [inner] = call.args
            values = self.listed(inner) if isinstance(inner, ast.Call) else self.keys(inner)
            return sorted(values) if function.id == "sorted" else values
        if isinstance(function, ast.Attribute) and function.attr == "keys" and not call.args:
            return self.keys(function.value)
        raise NoLiteral

    def keys(self, node: ast.expr) -> List[Any]:
        found = self.values.get(node.id) if isinstance(node, ast.Name) else node
        if isinstance(found, ast.Dict) and None not in found.keys:
            return [self.literal(key) for key in found.keys if key is not None]
        value = self.literal(node)
        if isinstance(value, list):
            return value
        raise NoLiteral

    def members(self, class_: ast.ClassDef) -> Optional[Dict[str, ast.expr]]:
        """Of an Enum; None for another class."""
        if not any(self.name(base) in ENUMS for base in class_.bases):
            return None
        return {
            target.id: node.value
            for node in class_.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and not target.id.startswith("_")
        }


def statements(body: List[Any]) -> Iterator[Any]:
    """Those of a file, also what it defines under a condition."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from statements(handler.body)


def targets(node: ast.stmt) -> List[str]:
    found = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []
    return [each.id for each in found if isinstance(each, ast.Name)]


def finite(value: Any) -> Any:
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        raise NoLiteral
    return value


def number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NoLiteral
    return value


def calculated(operator: ast.operator, left: Any, right: Any) -> Any:
    """Bounds are often written as `2**32 - 1`."""
    if isinstance(operator, ast.Add) and type(left) is type(right) and isinstance(left, (str, list)):
        return left + right
    number(left), number(right)
    try:
        if isinstance(operator, ast.Pow) and abs(right) <= 64 and abs(left) <= 1024:
            return finite(left**right)
        made = {ast.Add: lambda: left + right, ast.Sub: lambda: left - right, ast.Mult: lambda: left * right}
        made.update({ast.Div: lambda: left / right, ast.FloorDiv: lambda: left // right})
        return finite(made[type(operator)]())
    except (ArithmeticError, KeyError, TypeError):
        raise NoLiteral from None


def find(source: Source, name: str) -> Tuple[Any, bool]:
    """The function, and whether its first parameter is the object that it is a method of."""
    if name in source.functions:
        return source.functions[name], False
    if name in source.classes:
        for class_ in bases(source, source.classes[name], 20):
            methods = {node.name: node for node in class_.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
            method = methods.get("predict") or methods.get("run")
            if method is not None:
                return method, not any(source.name(each) == "staticmethod" for each in method.decorator_list)
        raise Problem(f"The class {name} has no method `predict`. Write one, and what it takes are the inputs.", source.classes[name])
    value = source.values.get(name)
    if isinstance(value, ast.Name) and value.id != name and (value.id in source.functions or value.id in source.classes):
        return find(source, value.id)
    if name in source.values or name in source.imported:
        raise Problem(f"`{name}` is not defined in this file by `def` or `class`. Write a function in it that calls it.", value)
    has = [each for each in [*source.functions, *source.classes] if not each.startswith("_")]
    raise Problem(f"The file has no `{name}`. It has {', '.join(has) if has else 'no function'}.", None)


def bases(source: Source, class_: ast.ClassDef, depth: int) -> Iterator[ast.ClassDef]:
    yield class_
    for base in class_.bases:
        if isinstance(base, ast.Name) and base.id in source.classes and depth > 0:
            yield from bases(source, source.classes[base.id], depth - 1)


def definitions(source: Source, function: Any, is_method: bool) -> List[Dict[str, Any]]:
    about = descriptions(ast.get_docstring(function) or "")
    takes = function.args
    positional = [*takes.posonlyargs, *takes.args]
    defaults = [None] * (len(positional) - len(takes.defaults)) + takes.defaults
    pairs = [*zip(positional, defaults), *zip(takes.kwonlyargs, takes.kw_defaults)]
    made = [definition(source, each, default, about.get(each.arg)) for each, default in pairs[1 if is_method else 0 :] if not is_context(source, each)]
    return [each for each in made if each is not None]


def is_context(source: Source, parameter: ast.arg) -> bool:
    """A parameter `context` with the annotation of a value is an input, as of a model that answers questions about a text."""
    if parameter.annotation is None:
        return parameter.arg == "context"
    return source.name(unquoted(parameter.annotation)) == "Context"


def definition(source: Source, parameter: ast.arg, default: Optional[ast.expr], described: Optional[str]) -> Optional[Dict[str, Any]]:
    name = parameter.arg
    field = default if isinstance(default, ast.Call) and source.name(default.func) in FIELDS else None
    given = default_in(field) if field is not None else default
    value: Any = NOT_GIVEN
    if given is not None:
        try:
            value = source.literal(given)
        except NoLiteral:
            # Harmless: a run that leaves the input out gets what the function itself has, and only the definition does not show it.
            value = None
    if parameter.annotation is not None:
        shape = shape_of(source, unquoted(parameter.annotation), name)
    else:
        shape = shape_of_default(value, parameter, given)
    fields = [*shape.fields, *([field] if field is not None else [])]
    if value is NOT_GIVEN:
        for each in shape.fields:
            inner = default_in(each) if source.name(each.func) in FIELDS else None
            if inner is not None:
                raise Problem(f"The default of {name} stands in its annotation: write `{name}: … = {ast.unparse(inner)}`.", each)
    if shape.type is None:
        return None
    found: Dict[str, Any] = {"name": name, "type": shape.type, "required": value is NOT_GIVEN and not shape.may_be_none}
    if shape.secret:
        found["secret"] = True
    if shape.enum is not None:
        found["enum"] = shape.enum
    for each in fields:
        found.update(rules(source, name, shape, each))
    # Of a file the function has its own default: a path in the folder names no file of a run. A secret is shown to nobody.
    is_file = shape.type.rstrip("[]") == "file"
    if value is not NOT_GIVEN and value is not None and not shape.secret and not (is_file and value != []):
        check(found, value, given)
        found["default"] = value
    description = found.pop("description", None) or shape.description or described
    if description:
        found["description"] = description[:MAX_DESCRIPTION]
    return {key: as_digits(each) for key, each in found.items()}


def default_in(field: ast.Call) -> Optional[ast.expr]:
    found = field.args[0] if field.args else next((each.value for each in field.keywords if each.arg == "default"), None)
    return None if isinstance(found, ast.Constant) and found.value is Ellipsis else found


def shape_of_default(value: Any, parameter: ast.arg, given: Optional[ast.expr]) -> Shape:
    if value is NOT_GIVEN:
        return Shape("string")
    if value is None and not (isinstance(given, ast.Constant) and given.value is None):
        raise Problem(f"{parameter.arg} has no annotation, and a default that is no literal. Write its type, as in `{parameter.arg}: int = …`.", parameter)
    kinds = {bool: "boolean", int: "integer", float: "number", list: "array", dict: None}
    return Shape(kinds.get(type(value), "string"))


def unquoted(node: ast.expr) -> ast.expr:
    """An annotation may be a text."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return node
    try:
        return ast.copy_location(ast.parse(node.value.strip(), mode="eval").body, node)
    except SyntaxError:
        raise Problem(f"The annotation {node.value!r} is no expression of Python.", node) from None


def shape_of(source: Source, node: ast.expr, name: str) -> Shape:
    node = unquoted(node)
    if isinstance(node, ast.Constant) and node.value is None:
        return Shape(None, may_be_none=True)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return union(source, [node.left, node.right], node, name)
    if isinstance(node, ast.Subscript):
        return shape_of_generic(source, node, name)
    called = source.name(node)
    if isinstance(node, ast.Name) and node.id in source.classes:
        return shape_of_class(source, source.classes[node.id], node, name)
    if isinstance(node, ast.Name) and node.id in source.values:
        value = source.values.pop(node.id)
        try:
            return shape_of(source, value, name)
        finally:
            source.values[node.id] = value
    if called in TYPES:
        return Shape(TYPES[called])
    if called in FILES:
        return Shape("file")
    if called in SECRETS:
        return Shape("string", secret=True)
    if called in LISTS:
        return Shape("array")
    if called in WITHOUT_DEFINITION:
        return Shape(None)
    raise unknown(node, name)


def shape_of_generic(source: Source, node: ast.Subscript, name: str) -> Shape:
    of = source.name(node.value)
    arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if of == "Optional":
        return shape_of(source, node.slice, name)._replace(may_be_none=True)
    if of == "Union":
        return union(source, arguments, node, name)
    if of == "Literal":
        return shape_of_values(source, arguments, node, name)
    if of == "Annotated":
        texts = [each.value for each in arguments[1:] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        calls = tuple(each for each in arguments[1:] if isinstance(each, ast.Call))
        shape = shape_of(source, arguments[0], name)
        return shape._replace(fields=shape.fields + calls, description=texts[0] if texts else shape.description)
    if of in LISTS:
        inner = shape_of(source, arguments[0], name)
        return Shape("file[]" if inner.type == "file" else "array")
    if of in WITHOUT_DEFINITION:
        return Shape(None)
    raise unknown(node, name)


def shape_of_class(source: Source, class_: ast.ClassDef, node: ast.expr, name: str) -> Shape:
    members = source.members(class_)
    if members is None:
        # An object, such as a model of pydantic: its class says what is in it, and a definition cannot.
        return Shape(None)
    try:
        values = [source.literal(each) for each in members.values()]
    except NoLiteral:
        raise Problem(f"A value of {class_.name} is no literal, so {name} has no list of values. Write each as a text or a number.", class_) from None
    return Shape(type_of_values(values, class_, name), enum=values)


def shape_of_values(source: Source, nodes: List[ast.expr], node: ast.expr, name: str) -> Shape:
    try:
        values = [source.literal(each) for each in nodes]
    except NoLiteral:
        raise Problem(f"Literal[…] of {name} has something else than texts and numbers.", node) from None
    listed = [each for each in values if each is not None]
    kind = type_of_values(listed, node, name)
    return Shape(kind, may_be_none=None in values, enum=None if kind == "boolean" else listed)


def type_of_values(values: List[Any], node: ast.AST, name: str) -> str:
    kinds = {type(each) for each in values}
    for kinds_of_one, kind in (({str}, "string"), ({bool}, "boolean"), ({int}, "integer"), ({int, float}, "number")):
        if kinds and kinds <= kinds_of_one:
            return kind
    raise Problem(f"The values of {name} must be texts only, or numbers only.", node)


def union(source: Source, nodes: List[ast.expr], node: ast.expr, name: str) -> Shape:
    shapes = [shape_of(source, each, name) for each in nodes]
    may_be_none = any(each.may_be_none for each in shapes)
    some = [shape for shape, each in zip(shapes, nodes) if not (isinstance(each, ast.Constant) and each.value is None)]
    kinds = {each.type for each in some}
    if len(some) == 1:
        return some[0]._replace(may_be_none=may_be_none)
    if kinds == {"integer", "number"} and not any(each.enum for each in some):
        return Shape("number", may_be_none)
    if None in kinds and len(kinds) == 1:
        return Shape(None, may_be_none)
    raise Problem(f"{name} may be of several types, `{ast.unparse(node)}`: an input has one. Write one of them.", node)


def unknown(node: ast.expr, name: str) -> Problem:
    words = "str, int, float, bool, list, dict, Path for a file, list[Path], Literal[…], an Enum of this file, or Optional[…] of one of them"
    return Problem(f"The annotation `{ast.unparse(node)}` of {name} is not known as that of an input. Write {words}.", node)


def rules(source: Source, name: str, shape: Shape, field: ast.Call) -> Dict[str, Any]:
    """What `Input(…)` of Cog, `Field(…)` of pydantic, or `Ge(…)` and the like say of an input."""
    called = source.name(field.func)
    said = [(each.arg, each.value) for each in field.keywords if each.arg is not None]
    if called.lower() in BOUNDS and field.args:
        said.append((called.lower(), field.args[0]))
    is_list = shape.type in ("array", "file[]")
    found: Dict[str, Any] = {}
    for key, node in said:
        if key == "choices":
            # A list of one of its items would need a type of its own.
            values = read(source, name, key, node) if not is_list else None
            if isinstance(values, list) and values:
                type_of_values(values, node, name)
                found["enum"] = values
        elif key in BOUNDS and shape.type in ("integer", "number"):
            bound = read(source, name, key, node)
            if bound is not None:
                step = {"gt": 1, "lt": -1}.get(key, 0) if shape.type == "integer" else 0
                found[BOUNDS[key]] = number_of(bound, name, key, node) + step
        elif key in ITEMS and is_list:
            items = read(source, name, key, node)
            if items is not None:
                found[ITEMS[key]] = number_of(items, name, key, node)
        elif key == "description":
            try:
                found[key] = " ".join(str(source.literal(node)).split())
            except NoLiteral:
                pass  # harmless: it is for people
    return found


def read(source: Source, name: str, key: str, node: ast.expr) -> Any:
    try:
        return source.literal(node)
    except NoLiteral:
        raise Problem(f"`{key}` of {name} is known only when the file runs: `{ast.unparse(node)}`. Write its value there.", node) from None


def number_of(value: Any, name: str, key: str, node: ast.expr) -> Any:
    try:
        return number(value)
    except NoLiteral:
        raise Problem(f"`{key}` of {name} is no number.", node) from None


def check(found: Dict[str, Any], value: Any, node: Optional[ast.expr]) -> None:
    fits = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}.get(found["type"], (list,))
    name = found["name"]
    if not isinstance(value, fits) or isinstance(value, bool) != (found["type"] == "boolean"):
        raise Problem(f"The default of {name} is not of its type, which is {found['type']}. Change the default or the annotation.", node)
    if "enum" in found and value not in found["enum"]:
        raise Problem(f"The default of {name} is none of its values. Write one of them.", node)
    if value is not None and (value < found.get("minimum", value) or value > found.get("maximum", value)):
        raise Problem(f"The default of {name} is beyond its bounds.", node)


def as_digits(value: Any) -> Any:
    """Who reads JSON as doubles would change a long integer."""
    if isinstance(value, list):
        return [as_digits(each) for each in value]
    return str(value) if isinstance(value, int) and abs(value) > MAX_EXACT else value


def descriptions(docstring: str) -> Dict[str, str]:
    """Of the parameters, as Google (`Args:`) or Sphinx (`:param x:`) write them."""
    found: Dict[str, str] = {}
    current = ""
    # How far the head of a section is indented, and the names in it.
    head: Optional[int] = None
    names_at: Optional[int] = None
    for line in docstring.splitlines():
        depth = len(line) - len(line.lstrip())
        sphinx = re.match(r"\s*:param (?:[^:]*\s)?\*{0,2}(\w+):\s*(.*)", line)
        if sphinx or re.match(r"\s*(Args|Arguments|Parameters):\s*$", line):
            head, names_at, current = depth, None, ""
            if sphinx:
                current, names_at = sphinx[1], -1
                found[current] = sphinx[2]
        elif line.strip() and head is not None and depth <= head:
            head, current = None, ""
        elif line.strip() and head is not None:
            names_at = depth if names_at is None else names_at
            google = re.match(r"\s*\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s+(.*)", line) if depth == names_at else None
            if google:
                current = google[1]
                found[current] = google[2]
            elif current:
                found[current] += " " + line.strip()
    return {name: text.strip() for name, text in found.items()}


def answer(question: Any) -> Dict[str, Any]:
    try:
        source = Source(question["source"])
        return {"inputs": definitions(source, *find(source, question["function"]))}
    except Problem as problem:
        return {"error": str(problem), "line": problem.line}
    except SyntaxError as error:
        version = ".".join(str(part) for part in sys.version_info[:2])
        return {"error": f"The file is not valid for Python {version}: {error.msg}.", "line": error.lineno}
    except (ValueError, RecursionError, MemoryError) as error:
        return {"error": f"The file cannot be read as Python: {error}.", "line": None}


if __name__ == "__main__":
    print(json.dumps(answer(json.loads(sys.stdin.buffer.read().decode("utf-8", "replace")))))
