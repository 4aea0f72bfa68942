"""Pictures of lines of text, and the text that a network reads in them (PP-OCR's recognition)."""

import pathlib
import zlib

import numpy

HEIGHT, LEAST_WIDTH = 48, 320
FONTS = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSansMono", "DejaVuSerif", "DejaVuSerif-Italic",
         "STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic")  # fmt: skip


def draw(text: str) -> numpy.ndarray:
    """[48, width, 3], red first, of 0 to 255: in a font of 14 to 32 pixels, turned by at most 1.5 degrees, blurred, with noise,
    and light on dark in one of five. The text is the seed."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

    random = numpy.random.default_rng(zlib.crc32(text.encode()))
    path = pathlib.Path(matplotlib.get_data_path(), "fonts/ttf", f"{random.choice(FONTS)}.ttf")
    font = ImageFont.truetype(path, int(random.integers(14, 33)))
    left, top, right, bottom = font.getbbox(text)
    beside, above = random.integers(2, 9), random.integers(2, 7)
    light = random.integers(150, 256, 3)
    colors = [tuple(map(int, light)), tuple(map(int, light * random.uniform(0.05, 0.65)))]  # of the background, of the text
    if random.random() < 0.2:
        colors.reverse()
    picture = Image.new("RGB", (int(right - left + 2 * beside), int(bottom - top + 2 * above)), colors[0])
    ImageDraw.Draw(picture).text((beside - left, above - top), text, colors[1], font)
    angle = random.uniform(-1.5, 1.5) * min(1, 12 / len(text))  # a long line is turned less, or it would become small
    picture = picture.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=colors[0])
    picture = picture.filter(ImageFilter.GaussianBlur(random.uniform(0, 1)))
    noisy = numpy.asarray(picture, numpy.float32) + random.normal(0, random.uniform(0, 25), (picture.height, picture.width, 3))
    picture = Image.fromarray(noisy.clip(0, 255).astype(numpy.uint8))
    return numpy.asarray(picture.resize((max(1, round(picture.width * HEIGHT / picture.height)), HEIGHT), Image.Resampling.BILINEAR))


def batch(pictures: list[numpy.ndarray]) -> numpy.ndarray:
    """[pictures, 3, 48, width], blue first, of -1 to 1, and 0 behind a picture's end."""
    x = numpy.zeros((len(pictures), 3, HEIGHT, max(LEAST_WIDTH, *(one.shape[1] for one in pictures))), numpy.float32)
    for row, one in zip(x, pictures, strict=True):
        row[:, :, : one.shape[1]] = (one[:, :, ::-1].astype(numpy.float32) / 127.5 - 1).transpose(2, 0, 1)
    return x


def alphabet(characters: str) -> list[str]:
    """What each class means. characters: the model's metadata, a line for each; before them stands no character, behind them a
    space."""
    return ["", *characters.split("\n"), " "]


def texts_of(probabilities: numpy.ndarray, classes: list[str]) -> list[str]:
    """probabilities: [pictures, steps, classes]. Of each step the likeliest class; equal neighbours are one character."""
    best = probabilities.argmax(axis=2)
    starts = numpy.diff(best, axis=1, prepend=-1) != 0
    return ["".join(classes[one] for one in row[first]) for row, first in zip(best, starts, strict=True)]
