"""A model's inputs: read from files, or drawn."""

import difflib
import math

import numpy

from .refusal import Refusal

TYPES = {
    "tensor(float)": numpy.float32,
    "tensor(double)": numpy.float64,
    "tensor(float16)": numpy.float16,
    "tensor(bool)": numpy.bool_,
    **{
        f"tensor({sign}int{bits})": numpy.dtype(f"{sign}int{bits}").type
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}


Given = dict[str, "numpy.ndarray | tuple[int, ...]"]


def read(model: str, declared: list, shapes: list[str], files: list[str]) -> Given:
    """What --shape and --input were given, by name. declared: name, shape and type of each input, as ONNX Runtime gives
    them; an unknown extent is a name or None, and an unknown rank looks like a scalar's."""
    by_name = {one.name: one for one in declared}
    given: Given = {}
    for option, texts, read_value in (("--shape", shapes, _shape), ("--input", files, _array)):
        for text in texts:
            name, value = _split(option, text, model, list(by_name))
            if name in given:
                raise Refusal(f"{option} {text}: input '{name}' is given twice")
            given[name] = read_value(option, text, value, by_name[name])
    return given


PAST, NEW = 128, 1  # tokens of a model with a cache


def make(declared: list, given: Given) -> dict[str, numpy.ndarray]:
    random = numpy.random.default_rng(0)
    shapes, past = _shapes(declared, given)
    result = {}
    for one in declared:
        value = given.get(one.name)
        if isinstance(value, numpy.ndarray):
            result[one.name] = value
        elif past is not None and one.type in ("tensor(int32)", "tensor(int64)") and one.name in ORDERED:
            result[one.name] = _ordered(one, shapes[one.name], past)
        else:
            result[one.name] = _draw(random, one, shapes[one.name])
    return result


MASK, POSITIONS = "attention_mask", "position_ids"
TOKENS = "input_ids", "inputs_embeds"
ORDERED = MASK, POSITIONS


def _ordered(one: object, shape: tuple[int, ...], past: int) -> numpy.ndarray:
    """The mask hides nothing, and positions are those behind the cache: models compute lengths and rows of tables of
    them."""
    _refuse_large(one, shape)
    if one.name == MASK:
        return numpy.ones(shape, TYPES[one.type])
    places = past + numpy.arange(shape[-1] if shape else 1)
    return numpy.broadcast_to(places if shape else places[0], shape).astype(TYPES[one.type])


def _shapes(declared: list, given: Given) -> tuple[dict[str, tuple[int, ...]], int | None]:
    """Of each input, and of a model with a cache how many tokens that holds. Extents of one name are equal."""
    by_name: dict[str, int] = {}
    known = {}
    for one in declared:
        if (value := given.get(one.name)) is not None:
            known[one.name] = value.shape if isinstance(value, numpy.ndarray) else value
            for extent, number in zip(one.shape, known[one.name]):  # an unknown rank takes any
                if isinstance(extent, str):
                    by_name.setdefault(extent, number)
    left = {one.name: list(one.shape) for one in declared if one.name not in known}

    def fill(name: str, axis: int, number: int) -> int:
        """The extent, which is `number` if nothing else says it."""
        if name not in left:
            return known[name][axis]
        extent = left[name][axis]
        if not isinstance(extent, int):
            left[name][axis] = number = by_name.setdefault(extent, number) if extent else number
            return number
        return extent

    for name, shape in left.items():
        if shape:
            fill(name, 0, 1)
    caches = [one.name for one in declared if one.name.startswith("past") and len(one.shape) >= 4]
    past = None
    if caches:
        lengths = {name: fill(name, -2, PAST) for name in caches}
        past = next((length for name, length in lengths.items() if "encoder" not in name), lengths[caches[0]])
        ranks = {one.name: len(one.shape) for one in declared}
        tokens = next((fill(name, 1, NEW) for name in TOKENS if ranks.get(name, 0) >= 2), NEW)
        for name, length in ((MASK, past + tokens), (POSITIONS, tokens)):
            if ranks.get(name, 0) >= 2:
                fill(name, -1, length)
    for one in declared:
        if one.name in left:
            known[one.name] = _known(one, [by_name.get(extent, extent) for extent in left[one.name]])
    return known, past


def _split(option: str, text: str, model: str, names: list[str]) -> tuple[str, str]:
    if not names:
        raise Refusal(f"{option} {text}: expected none, as the model has no inputs")
    name, equals, value = text.rpartition("=")
    if not equals and option == "--input" and len(names) == 1:
        return names[0], text
    if not equals:
        raise Refusal(f"{option}: expected NAME=..., as the model has the inputs {', '.join(names)}; given '{text}'")
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise Refusal(f"{option} {text}: expected an input of {model}, {' or '.join(names)}, given '{name}'{hint}")
    return name, value


def _fits(shape: tuple[int, ...], one: object) -> bool:
    declared = one.shape
    return not declared or len(shape) == len(declared) and all(
        d == s for d, s in zip(declared, shape, strict=True) if isinstance(d, int)
    )


def _shape(option: str, text: str, value: str, one: object) -> tuple[int, ...]:
    extents = value.split("x") if value else []
    if not all(extent.isdecimal() and len(extent) <= 10 for extent in extents):
        raise Refusal(f"{option} {text}: expected extents like 1x3x640x640, given '{value}'")
    shape = tuple(map(int, extents))
    if not _fits(shape, one):
        raise Refusal(f"{option} {text}: expected a shape like {_text(one.shape)}, given {_text(shape)}")
    return shape


def _array(option: str, text: str, value: str, one: object) -> numpy.ndarray:
    try:
        with open(value, "rb") as file:
            array = numpy.load(file, allow_pickle=False)
        if not isinstance(array, numpy.ndarray):
            raise ValueError("it holds several arrays")
    except Exception as error:  # a file that is no array makes numpy raise any
        reason = str(error).split(". ")[0] or type(error).__name__
        raise Refusal(f"{option} {text}: {value} is no .npy file that can be read: {reason}") from None
    if array.dtype != TYPES.get(one.type):
        raise Refusal(f"{option} {text}: expected {one.type} for input '{one.name}', given {array.dtype}")
    if not _fits(array.shape, one):
        raise Refusal(f"{option} {text}: expected a shape like {_text(one.shape)}, given {_text(array.shape)}")
    return array


def _known(one: object, shape: list) -> tuple[int, ...]:
    """shape: the declared one, of which extents are filled in."""
    if not all(isinstance(extent, int) for extent in shape):
        raise Refusal(
            f"input '{one.name}' has the shape {_text(one.shape)}: give its extents, --shape {one.name}="
            + "x".join(str(extent) if isinstance(extent, int) else "N" for extent in shape)
        )
    return tuple(shape)


def _text(shape: object) -> str:
    return "[" + ", ".join("?" if extent is None else str(extent) for extent in shape) + "]"


def _refuse_large(one: object, shape: tuple[int, ...]) -> None:
    if math.prod(extent or 1 for extent in shape) > 2**31:  # NumPy has no arrays of larger extents beside 0 either
        raise Refusal(f"input '{one.name}': expected at most 2^31 elements, given the shape {_text(shape)}")


def _draw(random: numpy.random.Generator, one: object, shape: tuple[int, ...]) -> numpy.ndarray:
    if one.type not in TYPES:
        raise Refusal(f"input '{one.name}' is a {one.type}, which cannot be drawn: expected one of {', '.join(TYPES)}")
    _refuse_large(one, shape)
    kind = TYPES[one.type]
    try:
        if issubclass(kind, numpy.floating):
            return random.standard_normal(shape, numpy.float32).astype(kind)
        return random.integers(0, 2, shape).astype(kind)
    except MemoryError:
        raise Refusal(f"input '{one.name}': there is too little memory for the shape {_text(shape)}") from None
