"""Where kernels of GPUs want the scales of blocks."""

import numpy

from .arguments import array_of, whole_number

_ROWS, _COLUMNS, _GROUPS = 128, 4, 4  # of a tile, and the groups of 32 rows in it
_MOST = 2**48  # extents, so that NumPy has room for any of an array without elements


def _checked(scale: numpy.ndarray, ndim: int, what: str) -> numpy.ndarray:
    scale = array_of(scale, what)
    if scale.ndim != ndim:
        raise ValueError(f"{what}: expected {ndim} dimension{'s' if ndim > 1 else ''}, given shape {scale.shape}")
    if scale.dtype.itemsize != 1:
        raise TypeError(f"{what}: expected scales of a byte, E8M0 or E4M3, given {scale.dtype}")
    return scale


def swizzle_scales(scale: numpy.ndarray) -> numpy.ndarray:
    """Scales of (rows, blocks of a row) as NVIDIA's Blackwell reads them: one dimension, of tiles of 128 rows by 4 blocks.

    The scale of row r and block c is byte (r % 32) * 16 + (r // 32) * 4 + c of its tile; tiles lie row by row; zeros fill the last
    ones (cuBLAS's documentation, "1D Block Scaling Factors Layout"; PyTorch's to_blocked() makes the same).

    >>> import numpy, exactquant
    >>> scale = numpy.arange(8, dtype=numpy.uint8).reshape(2, 4)
    >>> exactquant.swizzle_scales(scale)[[0, 1, 2, 3, 16, 17, 18, 19]].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    scale = _checked(scale, 2, "scale")
    rows, columns = scale.shape
    tiles = -(-rows // _ROWS), -(-columns // _COLUMNS)
    padded = numpy.zeros((tiles[0] * _ROWS, tiles[1] * _COLUMNS), scale.dtype)
    padded[:rows, :columns] = scale
    each = padded.reshape(tiles[0], _GROUPS, _ROWS // _GROUPS, tiles[1], _COLUMNS)
    return each.transpose(0, 3, 2, 1, 4).reshape(-1)


def unswizzle_scales(swizzled: numpy.ndarray, rows: int, columns: int) -> numpy.ndarray:
    """The inverse of swizzle_scales(): scales of shape (rows, columns).

    >>> import numpy, exactquant
    >>> scale = numpy.arange(300, dtype=numpy.uint8).reshape(60, 5)
    >>> bool((exactquant.unswizzle_scales(exactquant.swizzle_scales(scale), 60, 5) == scale).all())
    True
    """
    swizzled, rows, columns = _checked(swizzled, 1, "swizzled"), whole_number(rows, "rows", _MOST), whole_number(columns, "columns", _MOST)
    tiles = -(-rows // _ROWS), -(-columns // _COLUMNS)
    size = tiles[0] * tiles[1] * _ROWS * _COLUMNS
    if swizzled.size != size:
        raise ValueError(f"swizzled: expected {size} of ({rows}, {columns}), in tiles of {_ROWS} by {_COLUMNS}, given {swizzled.size}")
    each = swizzled.reshape(tiles[0], tiles[1], _ROWS // _GROUPS, _GROUPS, _COLUMNS)
    return each.transpose(0, 3, 2, 1, 4).reshape(tiles[0] * _ROWS, tiles[1] * _COLUMNS)[:rows, :columns]
