"""Compares the operator table with the schemas of Python's onnx, every version of every operator.

usage: compare_schemas.py PRINT_SCHEMAS
"""
import json
import subprocess
import sys

import onnx
from onnx import TensorProto, defs, helper

OPERATORS = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")


def number(type_str):
    """"tensor(float)" as a number of TensorProto.DataType."""
    name = type_str.removeprefix("tensor(").removesuffix(")").upper()
    return TensorProto.DataType.Value(name)


def allowed(schema, parameter):
    """The types of an input or output, and the name of their type constraint."""
    for constraint in schema.type_constraints:
        if constraint.type_param_str == parameter.type_str:
            return sorted(map(number, constraint.allowed_type_strs)), parameter.type_str
    return [number(parameter.type_str)], None


def expected(schema):
    quantizes = schema.name != "DequantizeLinear"
    x, y = schema.inputs[0], schema.outputs[0]
    row = {
        "domain": schema.domain,
        "name": schema.name,
        "since": schema.since_version,
        "quantizes": int(quantizes),
        "real": allowed(schema, x if quantizes else y)[0],
        "quantized": allowed(schema, y if quantizes else x)[0],
        "scale": [number(schema.outputs[1].type_str)] if len(schema.outputs) > 1 else [],
        "scale_like_x": 0,
        "inputs": [i.name for i in schema.inputs],
        "attributes": {
            name: helper.get_attribute_value(a.default_value) for name, a in schema.attributes.items()
        },
    }
    if len(schema.inputs) > 1:
        row["scale"], constraint = allowed(schema, schema.inputs[1])
        row["scale_like_x"] = int(constraint is not None and constraint == x.type_str)
    return row


def main():
    printed = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    rows = {(row["name"], row["since"]): row for row in printed if row["domain"] == ""}
    schemas = {
        (s.name, s.since_version): expected(s)
        for s in defs.get_all_schemas_with_history()
        if s.domain == "" and s.name in OPERATORS
    }
    wrong = 0
    for key in sorted(rows.keys() | schemas.keys()):
        if rows.get(key) != schemas.get(key):
            print(f"{key}: expected {schemas.get(key)}, given {rows.get(key)}")
            wrong += 1
    print(f"onnx {onnx.__version__}, opset {defs.onnx_opset_version()}: {len(schemas)} schemas, {wrong} differ")
    return 1 if wrong or not schemas else 0


if __name__ == "__main__":
    sys.exit(main())
