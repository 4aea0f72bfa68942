"""Compares the operator table of models with the schemas of Python's onnx at every opset that models may have.

usage: compare_schemas.py PRINT_SCHEMAS

Inputs and attributes are ONNX's, and the types of an input some of ONNX's.
"""
import json
import subprocess
import sys

import onnx
from onnx import TensorProto, defs

OLDEST_OPSET = 10


def number(type_str):
    """The number in TensorProto.DataType of a type such as "tensor(float)"; 0 if the type is no tensor."""
    if not type_str.startswith("tensor("):
        return 0
    return TensorProto.DataType.Value(type_str[len("tensor("):-1].upper())


def expected(schema):
    constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    return {
        "inputs": [
            {"name": i.name, "optional": int(i.option == defs.OpSchema.FormalParameterOption.Optional),
             "types": sorted(map(number, constraints.get(i.type_str, [i.type_str])))}
            for i in schema.inputs
        ],
        "attributes": {name: a.type.value for name, a in sorted(schema.attributes.items())},
    }


def differences(row, schema):
    """Describes where the row differs from ONNX."""
    names = [(i["name"], i["optional"]) for i in row["inputs"]]
    if names != [(i["name"], i["optional"]) for i in schema["inputs"]]:
        yield f"inputs: expected {[i['name'] for i in schema['inputs']]}, given {row['inputs']}"
        return
    for mine, other in zip(row["inputs"], schema["inputs"]):
        if not mine["types"] or not set(mine["types"]) <= set(other["types"]):
            yield f"types of {mine['name']}: expected some of {other['types']}, given {mine['types']}"
    if row["attributes"] != schema["attributes"]:
        yield f"attributes: expected {schema['attributes']}, given {row['attributes']}"


def main():
    table = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    rows = table["rows"]
    versions = {(s.name, s.since_version): s for s in defs.get_all_schemas_with_history() if s.domain == ""}
    wrong = [f"{r['name']} {r['since']}: expected a version of ONNX" for r in rows
             if (r["name"], r["since"]) not in versions]
    compared = 0
    for name in sorted({r["name"] for r in rows}):
        for opset in range(OLDEST_OPSET, table["newest_opset"] + 1):
            row = max((r for r in rows if r["name"] == name and r["since"] <= opset), key=lambda r: r["since"])
            schema = expected(versions[name, max(since for n, since in versions if n == name and since <= opset)])
            wrong += [f"{name}, opset {opset}: {text}" for text in differences(row, schema)]
            compared += 1
    print(*wrong, sep="\n")
    print(f"onnx {onnx.__version__}, opset {defs.onnx_opset_version()}: {len(rows)} rows, {compared} compared, "
          f"{len(wrong)} differ")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
