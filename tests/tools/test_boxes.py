"""tools/boxes.py draws what its text says, and the committed drawing is that of its text."""

import pathlib
import unittest
import xml.etree.ElementTree as xml

from boxes import draw, parse

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
TWO = "# a comment\nbox a door: 0, 0, 4: A & B; below\nbox b part: 2, 2, 6: C\n\narrow a b\n"


class Boxes(unittest.TestCase):
    def test_boxes_and_arrows(self):
        boxes, arrows = parse(TWO)
        self.assertEqual([(box.kind, box.row, box.first, box.last, box.lines) for box in boxes.values()],
                         [("door", 0, 0, 4, ["A & B", "below"]), ("part", 2, 2, 6, ["C"])])
        self.assertEqual(arrows, [("a", "b")])

    def test_drawing(self):
        root = xml.fromstring(draw(TWO))
        name = "{http://www.w3.org/2000/svg}"
        self.assertEqual([text.text for text in root.iter(name + "text")], ["A & B", "below", "C"])
        # 56 a column, 66 a row, 6 around a box of 42: columns 2 to 4 are shared.
        self.assertEqual([(box.get("x"), box.get("y"), box.get("width")) for box in root.iter(name + "rect")],
                         [("6", "6", "212"), ("118", "138", "212")])
        self.assertEqual([path.get("d") for path in root.iter(name + "path")], ["M168 48V131", "M168 138l-4 -8h8z"])

    def test_wrong_lines_are_named(self):
        for line in ("box a door: 0, 0, 4: again", "box c window: 0, 0, 4: C", "box c door: 0, 4, 4: C",
                     "box c door: 0, 0, 1: too wide", "box c door: 0, 0, 4: 1; 2; 3", "arrow b a", "arrow a c",
                     "circle a"):
            with self.subTest(line=line), self.assertRaisesRegex(ValueError, "line 6: expected "):
                parse(TWO + line)
        with self.assertRaisesRegex(ValueError, "line 6: expected .*share columns, given a c"):
            parse(TWO.replace("arrow a b", "box c part: 1, 4, 5: C") + "arrow a c")

    def test_the_committed_drawing_is_that_of_its_text(self):
        source = DOCS / "way_of_the_data.txt"
        command = source.read_text().splitlines()[0]
        self.assertTrue(draw(source.read_text()) == source.with_suffix(".svg").read_text(), command)
