"""Reads a model's file, lets a function change the model, and writes another file."""

import contextlib
import errno
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator

from google.protobuf.message import DecodeError, Message
from onnx import ModelProto, TensorProto

from .refusal import Refusal

ENDS = signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM  # what asks a program to end

Left = Counter[tuple[str, str]]  # how many nodes are left as they are, by operator and reason


def convert_file(source: str, target: str, change: Callable[[ModelProto, str], tuple[int, Left]]) -> tuple[int, Left]:
    """Writes the model `source`, changed, as `target`. change: gets the model and the folder of its external data, and
    returns how many nodes it has rewritten, and what it has left."""
    model = _read(source)
    folder = os.path.dirname(source)
    data = sorted({os.path.join(folder, name) for name in _external_files(model)})
    if any(_are_same(target, path) for path in (source, *data)):
        raise Refusal(f"{target} is read: expected another file to write")
    if data and not _are_same(os.path.dirname(target) or ".", folder or "."):
        raise Refusal(f"{target}: expected a file in the folder of {source}, as both read weights from {data[0]}")
    try:
        done = change(model, folder)
    except Refusal as refusal:
        raise Refusal(f"{source}: {refusal}") from None
    except (IndexError, ValueError):
        raise Refusal(f"{source} is no ONNX model: an operator lacks inputs, outputs or attributes") from None
    _write(target, model.SerializeToString())
    return done


def described(left: Left) -> str:
    return "; ".join(f"{count} {operator}: {reason}" for (operator, reason), count in left.most_common())


def parts(message: Message, kind: type) -> Iterator[Message]:
    """All messages of a kind within a message."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in [value] if isinstance(value, Message) else value:
            if isinstance(part, kind):
                yield part
            if not isinstance(part, TensorProto):  # whose elements would be copied
                yield from parts(part, kind)


def _external_files(model: ModelProto) -> Iterator[str]:
    for tensor in parts(model, TensorProto):
        if tensor.data_location == TensorProto.EXTERNAL:
            yield from (os.fsdecode(entry.value) for entry in tensor.external_data if entry.key == "location")  # bytes if it is not UTF-8


def _are_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # a file that is missing, or whose name has a null byte
        return False


def _read(path: str) -> ModelProto:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Refusal(f"{path or 'a file without a name'} cannot be read: {error.strerror}") from None
    try:
        model = ModelProto.FromString(data)
    except DecodeError as error:
        raise Refusal(f"{path} is no ONNX model: {error}") from None
    if not model.HasField("graph"):
        raise Refusal(f"{path} is no ONNX model: it has no graph")
    return model


def _write(path: str, data: bytes) -> None:
    """Makes missing folders. Replaces a file as a whole, also behind a link. A device or a pipe gets the bytes."""
    file = os.path.realpath(path)
    folder = os.path.dirname(file)
    temporary = os.path.join(folder, f".dynquant.{os.urandom(6).hex()}")  # short, as the file's name may be the longest
    try:
        if os.path.islink(file):  # it leads to itself
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        given = path or os.curdir  # by this name: a link of /proc to a pipe leads to no name
        if os.path.exists(given) and not os.path.isfile(given):
            with open(given, "wb") as stream:
                stream.write(data)
            return
        os.makedirs(folder, exist_ok=True)
        with _postponed_end(), contextlib.ExitStack() as undo:
            with open(temporary, "xb") as stream:
                undo.callback(os.unlink, temporary)
                stream.write(data)
            if os.path.exists(file):
                shutil.copymode(file, temporary)
            os.replace(temporary, file)
            undo.pop_all()
    except OSError as error:
        raise Refusal(f"{path or 'a file without a name'} cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def _postponed_end() -> Iterator[None]:
    """Signals that would end the program wait for the end of the scope."""
    asked: list[int] = []
    before = {s: h for s in ENDS if (h := signal.getsignal(s)) in (signal.SIG_DFL, signal.default_int_handler)}
    for number in before:
        signal.signal(number, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if asked:
            signal.raise_signal(asked[-1])
