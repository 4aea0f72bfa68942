"""Draws boxes and arrows from a text, as an SVG that light and dark pages can show. Needs no packages.

A box lies in a row and from one column to another; an arrow goes straight down between two boxes that share columns.
"""

import html
import pathlib
import re
import sys

COLUMN, ROW, GAP, HEIGHT, FONT = 56, 66, 6, 42, 13
# Text is dark on light boxes, and arrows are of a grey that both kinds of pages show.
FILL = {"door": "#dbe9f6", "part": "#f2f2f2", "value": "#fff3d1", "kernel": "#d8efe2"}


class Box:
    def __init__(self, kind: str, row: int, first: int, last: int, lines: list[str]) -> None:
        self.kind, self.row, self.first, self.last, self.lines = kind, row, first, last, lines
        self.left, self.right = first * COLUMN + GAP, last * COLUMN - GAP
        self.top = row * ROW + GAP
        self.bottom = self.top + HEIGHT


def parse(text: str) -> tuple[dict[str, Box], list[tuple[str, str]]]:
    """Boxes by name, and arrows from a name to another. ValueError names a line that is wrong."""
    boxes: dict[str, Box] = {}
    arrows: list[tuple[str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if box := re.fullmatch(r"box (\w+) (\w+): (\d+), (\d+), (\d+): (.+)", line):
            name, kind, row, first, last, content = box.groups()
            made = Box(kind, int(row), int(first), int(last), [part.strip() for part in content.split(";")])
            widest = max(map(len, made.lines)) * FONT * 0.58 + 10  # in the widest common font
            fits = made.first < made.last and len(made.lines) <= 2 and widest <= made.right - made.left
            if name in boxes or kind not in FILL or not fits:
                kinds = ", ".join(FILL)
                raise ValueError(f"line {number}: expected a new name, a kind of {kinds}, and one or two lines that fit")
            boxes[name] = made
        elif arrow := re.fullmatch(r"arrow (\w+(?: \w+)+)", line):
            names = arrow[1].split()
            for pair in zip(names, names[1:]):
                if not can_join(boxes, pair):
                    given = " ".join(pair)
                    raise ValueError(f"line {number}: expected boxes below each other that share columns, given {given}")
                arrows.append(pair)
        else:
            raise ValueError(f"line {number}: expected a box or an arrow, given '{line}'")
    return boxes, arrows


def shared(boxes: dict[str, Box], pair: tuple[str, str]) -> tuple[int, int]:
    return max(boxes[name].left for name in pair), min(boxes[name].right for name in pair)


def can_join(boxes: dict[str, Box], pair: tuple[str, str]) -> bool:
    if any(name not in boxes for name in pair):
        return False
    left, right = shared(boxes, pair)
    return boxes[pair[0]].row < boxes[pair[1]].row and left < right


def draw(text: str) -> str:
    boxes, arrows = parse(text)
    width = max(box.right for box in boxes.values()) + GAP
    height = max(box.bottom for box in boxes.values()) + GAP
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
           f' font-family="sans-serif" font-size="{FONT}" text-anchor="middle">',
           '<g stroke="#808080" stroke-width="1.5" fill="#808080">']  # fmt: skip
    for pair in arrows:
        x, top, bottom = sum(shared(boxes, pair)) // 2, boxes[pair[0]].bottom, boxes[pair[1]].top
        out += [f'<path d="M{x} {top}V{bottom - 7}"/>', f'<path d="M{x} {bottom}l-4 -8h8z" stroke="none"/>']
    out += ["</g>"]
    for box in boxes.values():
        out += [f'<rect x="{box.left}" y="{box.top}" width="{box.right - box.left}" height="{HEIGHT}" rx="4"'
                f' fill="{FILL[box.kind]}" stroke="#808080"/>']  # fmt: skip
        for place, line in enumerate(box.lines):
            y = box.top + HEIGHT / 2 + 4.5 + (place - (len(box.lines) - 1) / 2) * 16
            out += [f'<text x="{(box.left + box.right) // 2}" y="{y:g}" fill="#1f1f1f">{html.escape(line)}</text>']
    return "\n".join(out + ["</svg>"]) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 tools/boxes.py FILE.txt")
    source = pathlib.Path(sys.argv[1])
    try:
        drawn = draw(source.read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"boxes: {source}: {error}")
    source.with_suffix(".svg").write_text(drawn)
