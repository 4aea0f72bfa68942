"""Places for mutants: what belongs to each, and how a file with mutants reads."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mutations"))
from sites import Scanner, with_mutants


def changes(text: str) -> list[tuple[str, str]]:
    """What each place changes, and its text."""
    return [(site.change, text[site.begin : site.end]) for site in Scanner(text).sites()]


class Sites(unittest.TestCase):
    def test_operands_are_by_precedence(self) -> None:
        text = "bool f() { return a + 2 < b && c == (d & e) || !g; }"
        self.assertEqual(
            changes(text),
            [("|| to &&", "a + 2 < b && c == (d & e) || !g"), ("&& to ||", "a + 2 < b && c == (d & e)"), ("< to <=", "a + 2 < b"),
             ("== to !=", "c == (d & e)")],
        )  # fmt: skip

    def test_operands_end_where_statements_and_branches_do(self) -> None:
        self.assertEqual(changes("x = p ? a % b : f(c > d, e);"), [("% to /", "a % b"), ("> to >=", "c > d")])
        self.assertEqual(changes("for (int i = 0; i < n - 1; ++i) {}"), [("< to <=", "i < n - 1"), ("- 1 to - 0", "1")])

    def test_calls_and_fences(self) -> None:
        self.assertEqual(changes("y = std::min(a, b);"), [("min to max", "std::min(a, b)")])
        self.assertEqual(changes("y = ceil_div(a, f(b, c));"), [("ceil_div: down", "ceil_div(a, f(b, c))")])
        self.assertEqual(changes("void g() { V::fence(); }"), [("no fence", "V::fence();")])

    def test_what_is_no_place(self) -> None:
        for text in ("std::vector<int> v;", "template <class T> void f(T &&x);", "constexpr auto a = b < c;", "// a < b",
                     'f("a < b");', "#define F(a) (a < b)", "static_assert(a < b);", "x = -1;", "x = 1.5 - 1.0;"):  # fmt: skip
            self.assertEqual(changes(text), [], text)

    def test_mutants_lie_in_each_other(self) -> None:
        text = "if (a < b && c) x = i + 1;"
        sites = {number: site for number, site in enumerate(Scanner(text).sites()) if site.kind != "condition"}
        made = with_mutants(text, sites)
        is_chosen = {change: f"dynquant_mutant({n})" for n, change in ((n, s.change) for n, s in sites.items())}
        less = f"({is_chosen['< to <=']} ? (a) <= (b) : (a) < (b))"
        self.assertEqual(
            made,
            f"if (({is_chosen['&& to ||']} ? ({less}) || (c) : ({less}) && (c))) x = i + ({is_chosen['+ 1 to + 0']} ? 0 : 1);",
        )


if __name__ == "__main__":
    unittest.main()
