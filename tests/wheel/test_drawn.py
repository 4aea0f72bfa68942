"""The command on files and arguments that are drawn: it does what it says, or refuses in a line that says what is wrong. Each runs in a
child of this process, so that a crash, an end without an end and a size that a file merely claims are failures of a test."""

import dataclasses
import io
import math
import os
import pathlib
import re
import resource
import shlex
import signal
import sys
import tempfile
import traceback
import types
import unittest
import warnings
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime  # noqa: F401 -- before a child that would load it each time
from drawn import changed, drawn
from google.protobuf.message import Message
from hypothesis import reject, strategies as st
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime_ep_dynquant import __main__ as command
from onnxruntime_ep_dynquant import inputs, measure, per_row, report, sessions  # noqa: F401
from onnxruntime_ep_dynquant.refusal import Refusal

import models
from models import FLOAT

MEMORY, SECONDS = 12 << 30, 120  # of a child
QUICK = "--rounds", "1", "--milliseconds", "1"
TEXTS = st.one_of(st.sampled_from(("", "\0", "a/../b", "/", "..", "\x1b[31m", "é" * 300, "a'b (C): d\\", "\n")), st.text(max_size=5))
NUMBERS = (0, 1, -1, 2, 3, 127, 128, 2**31 - 1, 2**31, 2**40, 2**63 - 1, -(2**63), 2**64 - 1)


@dataclasses.dataclass
class Done:
    """status: of the process; that of a signal is negative."""

    status: int
    stdout: str
    stderr: str


def in_child(call: Callable[[], int]) -> Done:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            status = 99
            try:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                signal.alarm(SECONDS)
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.stdout, sys.stderr = (io.TextIOWrapper(os.fdopen(fd, "wb", 0), "utf-8", errors, write_through=True)
                                          for fd, errors in ((1, "strict"), (2, "backslashreplace")))  # fmt: skip
                status = call()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        for file in (out, err):
            file.seek(0)
        return Done(os.waitstatus_to_exitcode(ended), out.read().decode(), err.read().decode())


def run(*arguments: object) -> Done:
    def call() -> int:
        sys.argv = ["-m", *map(str, arguments)]
        return command.main()

    return in_child(call)


def crashes_alone(path: pathlib.Path, shape: str) -> bool:
    """Whether ONNX Runtime without the provider crashes on the model too."""

    def call() -> int:
        given = sessions.session(str(path), provider=False, threads=1)
        given.run(None, inputs.make(given.get_inputs(), inputs.read("", given.get_inputs(), [shape], [])))
        return 0

    return in_child(call).status < 0


def with_constants(model: ModelProto) -> ModelProto:
    """Initializers as nodes."""
    nodes = [helper.make_node("Constant", [], [c.name], value=c) for c in model.graph.initializer]
    nodes += model.graph.node
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def with_a_subgraph(model: ModelProto) -> ModelProto:
    """Which reads the result of the layer."""
    branch = helper.make_graph([helper.make_node("Neg", ["y"], ["n"])], "b", [], [helper.make_tensor_value_info("n", FLOAT, None)])
    model.graph.initializer.append(numpy_helper.from_array(np.array(True), "c"))
    model.graph.node.append(helper.make_node("If", ["c"], ["e"], then_branch=branch, else_branch=branch))
    model.graph.output[0].name = "e"
    return model


def weights_alone(path: pathlib.Path) -> str:
    nodes = [helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], "weights"), helper.make_node("MatMul", ["x", "d"], ["y"], "product")]
    w = models.RANDOM.integers(-9, 9, (64, 64)).astype(np.int8)
    return models.save(path, nodes, [("x", FLOAT, ["n", 64])], [("y", FLOAT, None)], {"w": w, "s": np.float32(0.1), "z": np.int8(0)})


def of_bits(path: pathlib.Path) -> str:
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], "product", domain="com.microsoft", K=64, N=32, bits=4, block_size=32)
    w = models.RANDOM.integers(0, 256, (32, 2, 16)).astype(np.uint8)
    return models.save(path, [node], [("x", FLOAT, ["n", 64])], [("y", FLOAT, None)], {"w": w, "s": np.ones((32, 2), np.float32)})


def bases() -> dict[str, tuple[ModelProto, str]]:
    """Models, and the shape of their input."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.onnx"
        each = {name: (onnx.load(make(path)), shape) for name, make, shape in (
            ("product", models.product, "x=3x24"), ("convolution", models.dynamic, "x=1x3x6x6"), ("weights alone", weights_alone, "x=3x64"),
            ("bits", of_bits, "x=3x64"))}  # fmt: skip
        outside = models.product(path, save_as_external_data=True, location="w.data", size_threshold=0)
        each["outside"] = onnx.load(outside, load_external_data=False), "x=3x24"
    for name, change in (("constants", with_constants), ("subgraph", with_a_subgraph)):
        copy = ModelProto()
        copy.CopyFrom(each["product"][0])
        each[name] = change(copy), "x=3x24"
    return each


BASES = bases()


def messages(of: Message) -> list[Message]:
    result = [of]
    for field, value in of.ListFields():
        if field.message_type is not None:
            for part in [value] if isinstance(value, Message) else value:
                result += messages(part)
    return result


def any_value(draw: Callable, field: object, names: list[str]) -> object:
    match field.cpp_type:
        case field.CPPTYPE_STRING if field.type == field.TYPE_BYTES:
            return draw(st.binary(max_size=40))
        case field.CPPTYPE_STRING:
            return draw(st.one_of(st.sampled_from(names), st.sampled_from(names), TEXTS.filter(lambda text: text.isprintable() or "\0" in text)))
        case field.CPPTYPE_FLOAT | field.CPPTYPE_DOUBLE:
            return draw(st.floats(width=32))
        case field.CPPTYPE_ENUM:
            return draw(st.sampled_from([value.number for value in field.enum_type.values]))
    bits, signed = (32 if field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32) else 64), field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64)
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return draw(st.sampled_from([n for n in NUMBERS if least <= n <= most]))


@st.composite
def changed_models(draw: Callable) -> tuple[str, ModelProto]:
    """A model of BASES, of which one to three fields are others."""
    base = draw(st.sampled_from(sorted(BASES)))
    model = ModelProto()
    model.CopyFrom(BASES[base][0])
    names = sorted({n for node in model.graph.node for n in (*node.input, *node.output, node.op_type)} | {"value", "location", "w.data", "dynquant"})
    for _ in range(draw(st.integers(1, 3))):
        message = draw(st.sampled_from(messages(model)))
        present = [field for field, _ in message.ListFields()]
        field = draw(st.sampled_from(present if present and draw(st.integers(0, 3)) else list(message.DESCRIPTOR.fields)))
        value = getattr(message, field.name)
        if not field.is_repeated:
            if field.message_type is not None:
                message.ClearField(field.name) if draw(st.booleans()) else value.SetInParent()
            else:
                setattr(message, field.name, any_value(draw, field, names))
            continue
        at = draw(st.integers(0, max(len(value) - 1, 0)))
        how = draw(st.sampled_from(("without", "twice", "other", "new", "turned")))
        if how == "without" and value:
            del value[at]
        elif how == "twice" and value:
            value.append(value[at])
        elif how == "turned" and len(value) > 1:
            turned = [*value[at:], *value[:at]]
            copies = [type(v)() for v in turned] if field.message_type is not None else turned
            if field.message_type is not None:
                for copy, one in zip(copies, turned):
                    copy.CopyFrom(one)
            del value[:]
            value.extend(copies)
        elif field.message_type is not None:
            value.add()
        elif how == "other" and value:
            value[at] = any_value(draw, field, names)
        else:
            value.append(any_value(draw, field, names))
    return base, model


class Models(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.path, self.out = self.folder / "m.onnx", self.folder / "o.onnx"
        (self.folder / "w.data").write_bytes(bytes(24 * 8 + 4))

    def check(self, done: Done, *names: object) -> bool:
        """Whether it did not refuse. names: one of which a refusal says."""
        self.assertIn(done.status, (0, 1), done)
        if done.status == 0:
            self.assertEqual(done.stderr, "")
            return True
        self.assertRegex(done.stderr, r"\Aonnxruntime_ep_dynquant: [^\n]+\n\Z")
        self.assertRegex(done.stderr, "|".join(map(re.escape, map(str, names))))
        return False

    def by_row(self, data: bytes, is_replaced: bool) -> None:
        """is_replaced: whether there is a file of the name already."""
        self.path.write_bytes(data)
        self.out.unlink(missing_ok=True)
        if is_replaced:
            self.out.write_bytes(b"old")
        before = sorted(os.listdir(self.folder))
        done = run("--per-row", self.path, self.out)
        if self.check(done, self.path):
            self.assertRegex(done.stdout, re.escape(str(self.out)) + r": [1-9]\d* of [1-9]\d* quantized layers have a scale for each row of x\.")
            self.check_rewritten()
        self.assertEqual(self.path.read_bytes(), data)
        self.assertEqual(sorted(os.listdir(self.folder)), before if is_replaced or done.status else sorted([*before, self.out.name]))
        if is_replaced and done.status:
            self.assertEqual(self.out.read_bytes(), b"old")

    def check_rewritten(self) -> None:
        """A model that onnx's checker accepts is one that it accepts afterwards, and has the same nodes but for domains."""
        before, after = (onnx.load(path, load_external_data=False) for path in (self.path, self.out))
        self.assertEqual([n.op_type for n in before.graph.node], [n.op_type for n in after.graph.node])
        self.assertIn("dynquant", {n.domain for n in after.graph.node})
        try:
            onnx.checker.check_model(before)
        except (onnx.checker.ValidationError, UnicodeDecodeError):
            return
        onnx.checker.check_model(after)

    def says(self, data: bytes, shape: str) -> None:
        self.path.write_bytes(data)
        done = run(self.path, "--shape", shape, *QUICK)
        if done.status < 0 and crashes_alone(self.path, shape):
            reject()
        if self.check(done, self.path, "input '", "--shape", "nothing is claimed in "):
            self.assertRegex(done.stdout, r"\A(ONNX Runtime [\d.]+: the provider claims |It does not pay: this is a model in QDQ format)")
            self.assertRegex(done.stdout, r"(\A|\n)(It pays|It does not pay|Cannot tell)( on [a-z0-9 ]+)?: .+\.\n(For embeddings .+\n)?\Z")

    @drawn(1400, base=st.sampled_from(sorted(BASES)), is_replaced=st.booleans(), data=st.data())
    def test_bytes_of_a_model_by_row(self, base, is_replaced, data):
        self.by_row(data.draw(changed(BASES[base][0].SerializeToString())), is_replaced)

    @drawn(280, name=st.one_of(st.binary(min_size=6, max_size=6), st.just(b"w\0data")), is_replaced=st.booleans())
    def test_names_of_files_in_a_model_by_row(self, name, is_replaced):
        self.by_row(BASES["outside"][0].SerializeToString().replace(b"w.data", name), is_replaced)

    @drawn(2800, model=changed_models(), is_replaced=st.booleans())
    def test_fields_of_a_model_by_row(self, model, is_replaced):
        self.by_row(model[1].SerializeToString(), is_replaced)

    @drawn(280, base=st.sampled_from(sorted(BASES)), data=st.data())
    def test_bytes_of_a_model(self, base, data):
        self.says(data.draw(changed(BASES[base][0].SerializeToString())), BASES[base][1])

    @drawn(560, model=changed_models())
    def test_fields_of_a_model(self, model):
        self.says(model[1].SerializeToString(), BASES[model[0]][1])


SPECIAL = "attention_mask", "position_ids", "input_ids", "inputs_embeds", "past.0", "past_key_values.encoder", "past", "x", "y", "a=b"


@st.composite
def declared_inputs(draw: Callable) -> list[types.SimpleNamespace]:
    extents = st.one_of(st.integers(0, 4), st.sampled_from(("n", "m", "", None, "n")))
    kinds = st.one_of(st.sampled_from(("tensor(float)", "tensor(int64)", "tensor(int32)")), st.sampled_from((*inputs.TYPES, "tensor(string)", "seq(tensor(float))")))
    return [types.SimpleNamespace(name=name, shape=draw(st.lists(extents, max_size=4) if not name.startswith("past") else st.lists(extents, min_size=3, max_size=5)),
                                  type=draw(kinds)) for name in draw(st.lists(st.sampled_from(SPECIAL), unique=True, max_size=5))]  # fmt: skip


@st.composite
def shapes(draw: Callable, declared: list) -> list[str]:
    """--shape, mostly fitting."""
    result = []
    for one in declared:
        if draw(st.booleans()):
            extents = [e if isinstance(e, int) and draw(st.integers(0, 9)) else draw(st.sampled_from((0, 1, 2, 3, 9999999999))) for e in one.shape]
            result.append(one.name + "=" + draw(st.sampled_from(("x".join(map(str, extents)),) * 9 + ("", "x", "1x", "²", "-1", "1e3", "٣x3", " 1"))))
    if draw(st.integers(0, 9)) == 0:
        result.append(draw(st.one_of(TEXTS, st.sampled_from(("x", "x=", "=", "z=1", "a=b=1")))))
    return result


class Inputs(unittest.TestCase):
    def fits(self, one: types.SimpleNamespace, value: np.ndarray) -> None:
        self.assertEqual(value.dtype, inputs.TYPES[one.type])
        if one.shape:
            self.assertEqual(value.ndim, len(one.shape))
            self.assertTrue(all(d == v for d, v in zip(one.shape, value.shape) if isinstance(d, int)), (one, value.shape))

    @drawn(7000, declared=declared_inputs(), data=st.data())
    def test_that_are_drawn(self, declared, data):
        texts = data.draw(shapes(declared))
        try:
            given = inputs.read("m.onnx", declared, texts, [])
            values = inputs.make(declared, given)
        except Refusal as refusal:
            said = str(refusal)
            self.assertRegex(said, r"\A(--shape|input '.+'( is a |: )|the model leaves extents open, of the inputs '.+\. Give yours, such as --shape )")
            if said.startswith("the model"):  # what it says to give is enough
                given = shlex.split(said.rpartition("such as ")[2])[1::2]
                try:
                    inputs.make(declared, inputs.read("m.onnx", declared, texts + given, []))
                except Refusal as other:
                    self.assertNotIn("leaves extents open", str(other))
            return
        self.assertEqual(list(values), [one.name for one in declared])
        extents: dict[str, set[int]] = {}
        for one in declared:
            self.fits(one, values[one.name])
            if one.name in given:
                self.assertEqual(values[one.name].shape, given[one.name])
            else:
                for extent, number in zip(one.shape, values[one.name].shape):
                    if extent and isinstance(extent, str):
                        extents.setdefault(extent, set()).add(number)
        self.assertTrue(all(len(numbers) == 1 for numbers in extents.values()), (declared, given, extents))

    @drawn(2100, dtype=st.sampled_from(("f4", "f2", "i8", "?", "f4,f4", ">f4", "U3")), shape=st.lists(st.integers(0, 3), max_size=3), fortran=st.booleans(),
           version=st.sampled_from(((1, 0), (2, 0), (3, 0))), zipped=st.integers(0, 9), data=st.data())  # fmt: skip
    def test_bytes_of_an_array(self, dtype, shape, fortran, version, zipped, data):
        array = np.ones(shape, dtype, order="F" if fortran else "C")
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that older NumPys do not read versions 2 and 3
            np.savez(file, array) if zipped == 0 else np.lib.format.write_array(file, array, version)
        written = data.draw(st.one_of(st.just(file.getvalue()), changed(file.getvalue())))
        one = types.SimpleNamespace(name="x", shape=["n"] * len(shape), type=data.draw(st.sampled_from((*inputs.TYPES, "tensor(string)"))))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.npy"
            path.write_bytes(written)

            def call() -> int:
                try:
                    value = inputs.read("m.onnx", [one], [], [str(path)])["x"]
                    self.fits(one, value)
                    if written == file.getvalue():
                        np.testing.assert_array_equal(value, array)
                except Refusal as refusal:
                    print(refusal)
                return 0

            done = in_child(call)
        self.assertEqual((done.status, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"(?s)\A(--input {re.escape(str(path))}: .*)?\Z")
        if written == file.getvalue():
            self.assertEqual(done.stdout == "", zipped != 0 and one.type in inputs.TYPES and array.dtype == inputs.TYPES[one.type], done.stdout)


WORDS = st.one_of(
    st.sampled_from(("--per-row", "--scale-channels", "--shape", "--input", "--float", "--accuracy", "--option", "--verbose", "--rounds", "--milliseconds", "--version", "--help", "--", "-", "--shap", "MODEL", "MODEL",
                     "MODEL", "OUT", "FOLDER", "x=3x24", "x=1x24", "x=0x24", "x=", "1", "0", "2", "9" * 400, "9" * 5000, "x=nothing.npy", "--rounds=1", "--milliseconds=1", "threads=1", "=", "path=x")),
    TEXTS.filter(lambda text: "\0" not in text), st.just("\udcff"))  # fmt: skip


class Arguments(unittest.TestCase):
    @drawn(1400, words=st.lists(WORDS, max_size=7))
    def test_any(self, words):
        self.check(words)

    @drawn(280, option=st.sampled_from(("--milliseconds", "--shape", "--input", "--float")), value=st.one_of(WORDS, st.sampled_from(("9" * 400, "9" * 9, "x=3x24"))))
    def test_one_option(self, option, value):
        if (option, value) != ("--milliseconds", "9" * 9):  # which is right, and long
            self.check(["MODEL", "--rounds=1", option, value])

    def check(self, words: list[str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "m.onnx"
            path.write_bytes(BASES["product"][0].SerializeToString())
            names = {"MODEL": path, "OUT": f"{folder}/o\udcff.onnx", "FOLDER": folder}
            given = [str(names.get(word, word)) for word in words]
            is_quick = any(word.startswith("--milliseconds") for word in words)

            def call() -> int:
                os.chdir(folder)
                sys.argv = ["-m", *given, *([] if is_quick or {"--per-row", "--scale-channels"} & set(words) else QUICK)]
                return command.main()

            if any(word in ("1", "2", "9" * 400) for word in words) and "--rounds" in words:
                return  # it would take long, as it is told to
            done = in_child(call)
        self.assertIn(done.status, (0, 1, 2), done)
        if done.status == 1:
            self.assertRegex(done.stderr, r"\Aonnxruntime_ep_dynquant: [^\n]+\n\Z")
        elif done.status == 2:
            self.assertRegex(done.stderr, r"(?s)\Ausage: .+\n.+: error: .+\n\Z")
        else:
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
