"""Arrays of other libraries, which are none of NumPy's."""

import numpy


class Stated:
    """What states its memory itself."""

    def __init__(self, interface: object, dtype: object = None) -> None:
        self.__array_interface__ = interface
        if dtype is not None:
            self.dtype = dtype


class Exported:
    """An array of a library that has __dlpack__ alone."""

    def __init__(self, array: numpy.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **named: object) -> object:
        return self.array.__dlpack__(**named)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()
