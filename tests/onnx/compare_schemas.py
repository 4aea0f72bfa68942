"""Compares the operator tables with the schemas of Python's onnx at every opset from 10 on.

usage: compare_schemas.py PRINT_SCHEMAS

Rows of dynquant::onnx have all that ONNX has. Those of models are partial: a row may stand for several versions, and
have some of the types.
"""
import json
import pathlib
import re
import subprocess
import sys

import onnx
from onnx import TensorProto, defs, helper

OLDEST_OPSET = 10
NO_ROW = {"Constant"}  # models read it as a tensor


def number(type_str):
    """The number in TensorProto.DataType of a type such as "tensor(float)"; 0 if the type is no tensor."""
    if not type_str.startswith("tensor("):
        return 0
    return TensorProto.DataType.Value(type_str[len("tensor("):-1].upper())


def types(schema, port):
    constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    return sorted(map(number, constraints.get(port.type_str, [port.type_str])))


def expected(schema):
    optional = defs.OpSchema.FormalParameterOption.Optional
    return {
        "since": schema.since_version,
        "inputs": [{"name": i.name, "optional": i.option == optional, "types": types(schema, i)}
                   for i in schema.inputs],
        "outputs": [types(schema, o) for o in schema.outputs],
        "scale_like_x": len(schema.inputs) > 1 and schema.inputs[0].type_str == schema.inputs[1].type_str,
        "attributes": {name: a.type.value for name, a in schema.attributes.items()},
        "defaults": {name: helper.get_attribute_value(a.default_value) for name, a in schema.attributes.items()
                     if a.default_value.name},
    }


def differences(row, schema):
    """Describes where the row differs from ONNX. Either may be absent."""
    if row is None or schema is None:
        if row is not schema:
            yield f"expected {'a row' if schema else 'no row'}, given {row}"
        return
    wanted = expected(schema)
    if row["partial"]:
        wanted["since"] = row["since"]
        for mine, other in zip(row["inputs"], wanted["inputs"]):
            if mine["types"] and set(mine["types"]) <= set(other["types"]):
                other["types"] = mine["types"]
    for key in sorted(row.keys() & wanted.keys()):
        if row[key] != wanted[key]:
            yield f"{key}: expected {wanted[key]}, given {row[key]}"


def at(opset, versions):
    """The newest of {since: version} at an opset, or None."""
    return versions.get(max((since for since in versions if since <= opset), default=None))


def main():
    lines = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = {(row["name"], row["since"]): row for row in map(json.loads, lines)}
    schemas = {(s.name, s.since_version): s for s in defs.get_all_schemas_with_history() if s.domain == ""}
    wrong = [f"{name} {since}: expected a version of ONNX" for name, since in sorted(rows.keys() - schemas.keys())]
    if len(rows) != len(lines):
        wrong.append(f"expected a row for each version, given {len(lines)} rows of {len(rows)} versions")
    listed = re.findall("^# operators: (.*)", pathlib.Path(__file__).with_name("requirements.txt").read_text(), re.M)
    names = {name for name, _ in rows} | set(" ".join(listed).split()) - NO_ROW
    opsets = range(OLDEST_OPSET, defs.onnx_opset_version() + 1)
    for name in sorted(names):
        mine, other = ({since: v for (n, since), v in all.items() if n == name} for all in (rows, schemas))
        wrong += [f"{name}, opset {opset}: {text}" for opset in opsets
                  for text in differences(at(opset, mine), at(opset, other))]
    print(*wrong, sep="\n")
    print(f"onnx {onnx.__version__}, opset {opsets[-1]}: {len(rows)} rows of {len(names)} operators, "
          f"{len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
