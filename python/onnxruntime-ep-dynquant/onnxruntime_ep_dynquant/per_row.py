"""Rewrites a model that quantize_dynamic made: each row of activations gets a scale and a zero point of its own, in
place of one for the whole tensor. Two operators of the domain `dynquant` say so. The file defines them as functions,
for sessions without a kernel of them."""

from collections import Counter

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, parser

from .model_files import Left, convert_file, described, parts
from .refusal import Refusal

DOMAIN = "dynquant"
OPERATORS = "DynamicQuantizeLinear", "MatMulInteger"  # of DOMAIN in place of ONNX's
PRODUCTS = "ConvInteger", "MatMulInteger"
OPSETS = range(11, 29)  # 11 brings DynamicQuantizeLinear; above 28 an operator may compute something else
IR_OF_FUNCTIONS = 8
ELSEWHERE = None  # in place of a node: what is outside of the graph's nodes, or in a subgraph


def convert(source: str, target: str) -> str:
    """Writes the model `source`, rewritten, as `target`. Returns a sentence that says what was done."""
    rewritten, left = convert_file(source, target, lambda model, _: rewrite(model))
    said = f"{target}: {rewritten} of {rewritten + left.total()} quantized layers have a scale for each row of x."
    return f"{said} Left: {described(left)}." if left else said


def rewrite(model: ModelProto) -> tuple[int, Left]:
    """Changes the model. Returns how many products have scales by row, and how many do not, by operator and reason.
    Refuses a model in which none can have them."""
    if any(n.domain == DOMAIN and n.op_type in OPERATORS for n in parts(model, NodeProto)):
        raise Refusal(f"nothing to rewrite: it has operators of the domain {DOMAIN} already")
    rows = _Rows(model)
    left: Left = Counter()
    rewritten = 0
    for node in filter(_is_product, model.graph.node):
        reason = rows.why_not(node)
        if reason:
            left[node.op_type, reason] += 1
        else:
            rewritten += 1
    for node in filter(_is_product, (n for g in parts(model.graph, GraphProto) for n in g.node)):
        left[node.op_type, "it is in a subgraph"] += 1
    if not rewritten:
        raise Refusal("nothing to rewrite: " + (described(left) or "it has no MatMulInteger"))
    opset = max((i.version for i in model.opset_import if _is_onnx(i.domain)), default=0)
    if opset not in OPSETS:
        raise Refusal(f"expected opset {OPSETS[0]} to {OPSETS[-1]}, given opset {opset}")
    rows.apply()
    model.functions.extend(functions(opset))
    if not any(i.domain == DOMAIN for i in model.opset_import):
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    if model.ir_version < 4:  # where no run replaces initializers that are inputs too
        constants = {c.name for c in model.graph.initializer}
        for value in [i for i in model.graph.input if i.name in constants]:
            model.graph.input.remove(value)
    model.ir_version = max(model.ir_version, IR_OF_FUNCTIONS)
    return rewritten, left


def functions(opset: int) -> list[FunctionProto]:
    """Both operators as they are written here, by ONNX's operators of that opset."""

    def reduced(operator: str, since: int, value: str, axis: int, keeps: int) -> str:
        """since: the opset in which the axes became an input."""
        if opset < since:
            return f"{operator} <axes = [{axis}], keepdims = {keeps}> ({value})"
        return f"{operator} <keepdims = {keeps}> ({value}, axes)"

    head = f'<domain: "{DOMAIN}", opset_import: ["" : {opset}]>'
    # As ONNX Runtime's, in the same order: the scale of zeros is 1, a zero point that is NaN 255. The scale of a tiny range
    # may round to 0. It divides nothing: it makes 0 of all results.
    quantize = f"""{head} DynamicQuantizeLinear <axis, block_size> (x) => (y, y_scale, y_zero_point) {{
        axes = Constant <value = int64[1] {{-1}}> ()
        zero = Constant <value = float {{0.0}}> ()
        one = Constant <value = float {{1.0}}> ()
        most = Constant <value = float {{255.0}}> ()
        highest = {reduced("ReduceMax", 18, "x", -1, 1)}
        lowest = {reduced("ReduceMin", 18, "x", -1, 1)}
        high = Max (highest, zero)
        low = Min (lowest, zero)
        range = Sub (high, low)
        no_range = Equal (range, zero)
        quotient_of_range = Div (range, most)
        y_scale = Where (no_range, one, quotient_of_range)
        quotient_of_low = Div (low, y_scale)
        difference = Sub (zero, quotient_of_low)
        is_nan = IsNaN (difference)
        number = Where (is_nan, most, difference)
        limited = Clip (number, zero, most)
        zero_point = Round (limited)
        y_zero_point = Cast <to = {TensorProto.UINT8}> (zero_point)
        no_scale = Equal (y_scale, zero)
        divisor = Where (no_scale, one, y_scale)
        quotient = Div (x, divisor)
        rounded = Round (quotient)
        sum = Add (rounded, zero_point)
        saturated = Clip (sum, zero, most)
        y = Cast <to = {TensorProto.UINT8}> (saturated)
    }}"""
    # The zero point of a row times the sums of b's columns: ONNX Runtime's product takes no zero points of rows.
    product = f"""{head} MatMulInteger (a, b, a_zero_point, b_zero_point) => (y) {{
        axes = Constant <value = int64[1] {{0}}> ()
        products = MatMulInteger (a, b, , b_zero_point)
        weights = Cast <to = {TensorProto.INT32}> (b)
        zero = Cast <to = {TensorProto.INT32}> (b_zero_point)
        differences = Sub (weights, zero)
        columns = {reduced("ReduceSum", 13, "differences", 0, 0)}
        rows = Cast <to = {TensorProto.INT32}> (a_zero_point)
        shift = Mul (rows, columns)
        y = Sub (products, shift)
    }}"""
    return [parser.parse_function(text) for text in (quantize, product)]


class _Rows:
    """What in a model's graph can have scales by row, and the change to it."""

    def __init__(self, model: ModelProto) -> None:
        self.graph = model.graph
        self.producers = {output: node for node in self.graph.node for output in node.output}
        self.readers: dict[str, list[NodeProto | None]] = {}
        for node in self.graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        below = list(parts(self.graph, GraphProto))
        for name in (
            *(o.name for g in (self.graph, *below) for o in g.output),
            *(i for g in below for n in g.node for i in n.input),
        ):
            self.readers.setdefault(name, []).append(ELSEWHERE)
        replaceable = {i.name for i in self.graph.input} if model.ir_version >= 4 else set()
        self.constants = {c.name: c for c in self.graph.initializer if c.name not in replaceable}
        for node in self.graph.node:
            if _is(node, "Constant") and node.attribute[0].name == "value":
                self.constants[node.output[0]] = node.attribute[0].t
        self.reasons: dict[str, str] = {}  # by the first output of a DynamicQuantizeLinear
        self.zeros: dict[int, str] = {}  # by type

    def why_not(self, product: NodeProto) -> str:
        """What keeps one scale, "" where each row may have its own."""
        if product.op_type == "ConvInteger":
            return "a convolution has no rows"
        quantize = self.producers.get(product.input[0])
        if not _is(quantize, "DynamicQuantizeLinear"):
            return "no DynamicQuantizeLinear gives its input"
        if quantize.output[0] not in self.reasons:
            self.reasons[quantize.output[0]] = self._why_not_rows(quantize)
        return self.reasons[quantize.output[0]]

    def apply(self) -> None:
        stale = set()  # values whose shapes change
        for node in [n for n in self.graph.node if n.output and self.reasons.get(n.output[0]) == ""]:
            products = [reader for reader in self._readers(node.output[0]) if reader is not ELSEWHERE]
            stale |= {node.output[2], *self._sums_and_scales(node)[1]}
            for product in products:
                product.domain = DOMAIN
                if len(product.input) < 4 or not product.input[3]:
                    product.input[:] = [*product.input[:3], self._zero(self.constants[product.input[1]].data_type)]
            inner = self.constants[products[0].input[1]].dims[0]
            node.domain = DOMAIN
            node.attribute.extend([helper.make_attribute("axis", -1), helper.make_attribute("block_size", inner)])
        for value in [v for v in self.graph.value_info if v.name in stale]:
            self.graph.value_info.remove(value)

    def _why_not_rows(self, quantize: NodeProto) -> str:
        x, scale, zero_point = quantize.output
        for reader in (*self._readers(x), *self._readers(zero_point)):
            if not _is(reader, "MatMulInteger"):
                return f"{_operator(reader)} reads its quantized input too"
            inputs = [*reader.input, "", ""]
            if (inputs[0], inputs[2]) != (x, zero_point):
                return "its quantized input is read apart from its zero point"
            weights = self.constants.get(inputs[1])
            if weights is None or len(weights.dims) != 2 or 0 in weights.dims:
                return "its input is multiplied by weights that are no constant matrix"
            if inputs[3] and inputs[3] not in self.constants:
                return "its input is multiplied by weights whose zero point is no constant"
        sums, scales = self._sums_and_scales(quantize)
        reads = [(product.output[0], "Cast", None) for product in self._readers(x)]  # value, operator, its other inputs
        reads += [(name, "Mul", None if name == scale else sums) for name in scales]
        reads += [(name, "Mul", scales) for name in sums]
        for name, operator, others in reads:
            for reader in self._readers(name):
                if not _is(reader, operator) or others is not None and not set(others) & set(reader.input):
                    return f"{_operator(reader)} reads its sums or the scale of its input before a Mul of both"
        return ""

    def _sums_and_scales(self, quantize: NodeProto) -> tuple[list[str], list[str]]:
        """What the Casts behind the products give; the scale, and its products by anything else."""
        x, scale, _ = quantize.output
        casts = [reader for product in self._readers(x) for reader in self._readers(product.output[0])]
        sums = [cast.output[0] for cast in casts if _is(cast, "Cast")]
        muls = [reader for reader in self._readers(scale) if _is(reader, "Mul")]
        return sums, [scale, *(mul.output[0] for mul in muls if not set(sums) & set(mul.input))]

    def _readers(self, name: str) -> list[NodeProto | None]:
        return self.readers.get(name, [])

    def _zero(self, kind: int) -> str:
        """The name of a constant of that type."""
        name = self.zeros.get(kind)
        if name is None:
            taken = {n for node in parts(self.graph, NodeProto) for n in (*node.input, *node.output)}
            taken |= {value.name for value in (*self.graph.input, *self.graph.initializer)}
            name = f"{DOMAIN}_zero_{TensorProto.DataType.Name(kind).lower()}"
            while name in taken:
                name += "_"
            self.graph.initializer.append(TensorProto(name=name, data_type=kind, int32_data=[0]))
            self.zeros[kind] = name
        return name


def _is_onnx(domain: str) -> bool:
    return domain in ("", "ai.onnx")


def _is(node: NodeProto | None, operator: str) -> bool:
    return node is not ELSEWHERE and _is_onnx(node.domain) and node.op_type == operator


def _is_product(node: NodeProto) -> bool:
    return any(_is(node, operator) for operator in PRODUCTS)


def _operator(reader: NodeProto | None) -> str:
    return "a subgraph or the caller" if reader is ELSEWHERE else reader.op_type
