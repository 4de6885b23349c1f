/** Reads the inputs of a Python function from its source. */
export const SIGNATURE_SCRIPT = `
import ast, json, sys
asked = json.load(sys.stdin)
tree = ast.parse(asked["source"])
found = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == asked["function"]]
if not found:
    print(json.dumps({"error": "There is no function %s" % asked["function"], "line": 1}))
    sys.exit()
arguments = found[-1].args
given = arguments.args + arguments.kwonlyargs
defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults + arguments.kw_defaults
types = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}
inputs = []
for argument, default in zip(given, defaults):
    name = getattr(argument.annotation, "id", None)
    definition = {"name": argument.arg, "type": types.get(name, "string"), "required": default is None}
    if default is not None:
        definition["default"] = ast.literal_eval(default)
    inputs.append(definition)
print(json.dumps({"inputs": inputs}))
`;
