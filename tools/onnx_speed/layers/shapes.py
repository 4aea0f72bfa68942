"""The measured layers: shapes of x and of the weights."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Shape:
    """x and w of a convolution, or of a product of two matrices. Pads keep the extents, but for the stride."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    stride: int = 1

    @staticmethod
    def of(text: str) -> "Shape":
        """text: the name, which has no groups: "1x32x56x56 by 64x8x3x3, stride 2" has 4."""
        shapes, _, stride = text.partition(", stride ")
        x, w = (tuple(map(int, shape.split("x"))) for shape in shapes.split(" by "))
        return Shape(x, w, int(stride or 1))

    @property
    def is_product(self) -> bool:
        return len(self.w) == 2

    @property
    def groups(self) -> int:
        return 1 if self.is_product else self.x[1] // self.w[1]

    @property
    def kernel(self) -> int:
        return self.w[-1]

    @property
    def channels(self) -> int:
        """Those of y, which a bias has too."""
        return self.w[1] if self.is_product else self.w[0]

    @property
    def name(self) -> str:
        shapes = " by ".join("x".join(map(str, shape)) for shape in (self.x, self.w))
        return shapes + (f", stride {self.stride}" if self.stride > 1 else "") + (f", {self.groups} groups" if self.groups > 1 else "")

    def products(self) -> int:
        """The multiplications."""
        positions = self.x[:-1] if self.is_product else [-(-extent // self.stride) for extent in self.x[2:]]
        return math.prod(self.w) * math.prod(positions)


SHAPES = {
    kind: [Shape.of(text.strip()) for text in texts.strip().splitlines()]
    for kind, texts in {
        "few channels": """
            1x1x240x320 by 1x1x3x3
            1x3x240x320 by 10x3x3x3
            1x1x240x320 by 8x1x5x5
            1x4x160x160 by 8x4x3x3
            1x1x128x128 by 4x1x3x3
            1x2x160x160 by 2x2x3x3
            1x2x96x96 by 16x2x3x3
            1x4x64x64 by 4x4x3x3
            1x4x80x80 by 2x4x5x5
            1x6x120x160 by 12x6x3x3
            1x8x80x80 by 1x8x3x3
            1x8x32x32 by 8x8x3x3, stride 2
            1x8x6x6 by 4x8x3x3
            1x10x119x159 by 16x10x3x3
            1x16x64x64 by 2x16x3x3
            """,
        "groups of channels": """
            1x32x56x56 by 32x4x3x3
            1x64x28x28 by 64x2x3x3
            1x128x56x56 by 128x4x3x3
            1x16x56x56 by 16x8x3x3
            1x24x28x28 by 24x8x3x3
            1x48x28x28 by 48x6x3x3
            1x64x28x28 by 64x32x3x3
            1x64x56x56 by 64x16x3x3
            1x64x14x14 by 128x4x1x1
            1x96x27x27 by 256x48x5x5
            1x128x28x28 by 128x4x3x3, stride 2
            1x240x28x28 by 60x80x1x1
            1x256x14x14 by 256x8x3x3
            """,
        "depthwise of 1 to 4 channels": """
            1x3x224x224 by 3x1x5x5
            1x1x112x112 by 1x1x5x5
            1x2x64x64 by 2x1x7x7
            1x2x160x160 by 2x1x3x3
            1x3x112x112 by 12x1x3x3
            1x3x128x128 by 3x1x3x3, stride 2
            1x3x224x224 by 3x1x3x3
            1x3x256x256 by 3x1x7x7
            1x4x56x56 by 4x1x3x3
            1x4x112x112 by 4x1x5x5
            """,
        "1x1 of 1 to 8 filters": """
            1x32x115x155 by 2x32x1x1
            1x8x112x112 by 8x8x1x1
            1x3x224x224 by 1x3x1x1
            1x3x224x224 by 3x3x1x1
            1x4x160x160 by 8x4x1x1
            1x16x112x112 by 1x16x1x1
            1x24x56x56 by 4x24x1x1
            1x32x64x64 by 6x32x1x1
            1x64x56x56 by 1x64x1x1
            1x128x28x28 by 2x128x1x1
            1x256x14x14 by 4x256x1x1
            1x512x7x7 by 8x512x1x1
            """,
        "stems": """
            1x3x224x224 by 32x3x3x3
            1x1x28x28 by 6x1x5x5
            1x1x160x160 by 16x1x7x7
            1x3x48x320 by 32x3x3x3, stride 2
            1x3x96x96 by 24x3x5x5
            1x3x112x112 by 64x3x3x3
            1x3x112x112 by 16x3x7x7
            1x3x160x160 by 16x3x5x5, stride 2
            1x3x224x224 by 32x3x3x3, stride 2
            1x3x224x224 by 64x3x7x7, stride 2
            """,
        "products of 2 to 16 rows": """
            16x512 by 512x512
            2x256 by 256x256
            2x768 by 768x3072
            3x1024 by 1024x1024
            4x384 by 384x1536
            4x1024 by 1024x64
            6x512 by 512x512
            8x256 by 256x256
            8x768 by 768x768
            12x384 by 384x384
            16x128 by 128x128
            16x768 by 768x3072
            """,
        "products of one row": """
            1x1024 by 1024x4096
            1x192 by 192x500
            1x64 by 64x64
            1x64 by 64x1024
            1x64 by 64x16384
            1x128 by 128x512
            1x256 by 256x256
            1x512 by 512x2048
            1x768 by 768x768
            1x768 by 768x3072
            1x1000 by 1000x500
            1x1024 by 1024x1024
            1x3072 by 3072x768
            1x4096 by 4096x1024
            1x4096 by 4096x4096
            1x4096 by 4096x16384
            1x16384 by 16384x64
            1x16384 by 16384x1024
            """,
        "others": """
            1x64x56x56 by 64x64x3x3
            1x96x40x40 by 96x1x3x3
            1x256x14x14 by 256x256x1x1
            128x384 by 384x384
            512x1024 by 1024x1024
            """,
    }.items()
}  # fmt: skip
