"""A model's inputs: read from files, or drawn."""

import difflib
import math
import os
import shlex

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
        else:
            result[one.name] = _draw(random, one, shapes[one.name], past)
    return result


MASK, POSITIONS = "attention_mask", "position_ids"
TOKENS = "input_ids", "inputs_embeds"


def samples(folder: str, declared: list) -> list[dict[str, numpy.ndarray]]:
    """The inputs in a folder: of each .npz, by name, or each .npy, of a model with one input."""
    try:
        files = sorted(name for name in os.listdir(folder) if name.endswith((".npy", ".npz")))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise Refusal(f"--accuracy {folder}: the folder cannot be read: {reason}") from None
    names = ", ".join(one.name for one in declared)
    if not files:
        raise Refusal(f"--accuracy {folder}: expected files .npz with the arrays {names}, or .npy of one input, given none")
    result = []
    for file in files:
        option = "--accuracy " + os.path.join(folder, file)
        arrays = _load(option, os.path.join(folder, file))
        if isinstance(arrays, numpy.ndarray):
            if len(declared) != 1:
                raise Refusal(f"{option}: expected a file .npz with the arrays {names}, given one array")
            arrays = {declared[0].name: arrays}
        if arrays.keys() != {one.name for one in declared}:
            raise Refusal(f"{option}: expected the arrays {names}, given {', '.join(arrays) or 'none'}")
        result.append({one.name: _checked(option, arrays[one.name], one) for one in declared})
    return result


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
    wanted = []
    for one in declared:
        if one.name not in left:
            continue
        shape = [by_name.get(extent, extent) for extent in left[one.name]]
        if not all(isinstance(extent, int) for extent in shape):
            wanted.append(one)
            typical = IMAGE if len(shape) > 3 else TEXT
            by_name |= {extent: typical for extent in shape if extent and isinstance(extent, str)}
            shape = [extent if isinstance(extent, int) else typical for extent in shape]
        known[one.name] = tuple(shape)
    if wanted:
        said = ", ".join(f"'{one.name}' {_text(one.shape)}" for one in wanted)
        pasted = " ".join("--shape " + shlex.quote(f"{one.name}={'x'.join(map(str, known[one.name]))}") for one in wanted)
        raise Refusal(f"the model leaves extents open, of the inputs {said}. Give yours, such as {pasted}")
    return known, past


IMAGE, TEXT = 224, 128  # extents, of which an error makes examples


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
    array = _load(f"{option} {text}", value)
    if not isinstance(array, numpy.ndarray):
        raise Refusal(f"{option} {text}: {value} is no .npy file that can be read: it holds several arrays")
    return _checked(f"{option} {text}", array, one)


def _load(option: str, path: str) -> numpy.ndarray | dict[str, numpy.ndarray]:
    try:
        with open(path, "rb") as file:
            loaded = numpy.load(file, allow_pickle=False)
            return loaded if isinstance(loaded, numpy.ndarray) else dict(loaded)
    except Exception as error:  # a file that is no array makes numpy raise any
        reason = str(error).split(". ")[0] or type(error).__name__
        kind = ".npz" if path.endswith(".npz") else ".npy"
        raise Refusal(f"{option}: {path} is no {kind} file that can be read: {reason}") from None


def _checked(option: str, array: numpy.ndarray, one: object) -> numpy.ndarray:
    if array.dtype != TYPES.get(one.type):
        raise Refusal(f"{option}: expected {one.type} for input '{one.name}', given {array.dtype}")
    if not _fits(array.shape, one):
        raise Refusal(f"{option}: expected a shape like {_text(one.shape)}, given {_text(array.shape)}")
    return array


def _text(shape: object) -> str:
    return "[" + ", ".join("?" if extent is None else str(extent) for extent in shape) + "]"


def _refuse_large(one: object, shape: tuple[int, ...]) -> None:
    if math.prod(extent or 1 for extent in shape) > 2**31:  # NumPy has no arrays of larger extents beside 0 either
        raise Refusal(f"input '{one.name}': expected at most 2^31 elements, given the shape {_text(shape)}")


def _draw(random: numpy.random.Generator, one: object, shape: tuple[int, ...], past: int | None) -> numpy.ndarray:
    """A mask hides nothing, and positions are those behind the cache: models compute lengths and rows of tables of them."""
    if one.type not in TYPES:
        raise Refusal(f"input '{one.name}' is a {one.type}, which cannot be drawn: expected one of {', '.join(TYPES)}")
    _refuse_large(one, shape)
    kind = TYPES[one.type]
    try:
        if issubclass(kind, numpy.floating):
            return random.standard_normal(shape, numpy.float32).astype(kind)
        if "mask" in one.name.lower():
            return numpy.ones(shape, kind)
        if past is not None and one.name == POSITIONS:
            places = past + numpy.arange(shape[-1] if shape else 1)
            return numpy.broadcast_to(places if shape else places[0], shape).astype(kind)
        return random.integers(0, 2, shape).astype(kind)
    except MemoryError:
        raise Refusal(f"input '{one.name}': there is too little memory for the shape {_text(shape)}") from None
