"""Finds places of a C++ file that a mutant can change, and writes the file with mutants that are chosen at run time.

The file is read as tokens, not parsed: clang-format's spaces tell an operator from the bracket of a template. What a
place takes in is what its operator's precedence gives it. A mistake shows as a file that does not compile, and the
place is left out.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

# Where a name begins or ends, operators do not.
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
# The binary operators, from the loosest to the tightest; 0 is what no operand reaches across.
LEVEL = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7, "<<": 8, ">>": 8,
         "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}  # fmt: skip
TOKEN = re.compile(
    r"(?<=\s)(?:\|\||&&|==|!=|<=|>=|<<|>>|[-+*/%<>&|^])(?=\s)"  # binary
    r"|(?<=\s)(?:[-+*/%&|^]|<<|>>)?=(?=\s)"
    r"|\b(?:return|throw|case|else|do|co_return)\b"
    r"|(?<!:):(?!:)|[?,;(){}\[\]]"
)
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "%": "/"}
KIND = {"==": "equality", "!=": "equality", "&&": "logic", "||": "logic", "%": "tail"}
ROUNDED = {"nearbyint": "floor", "rint": "floor", "floor": "ceil", "ceil": "floor", "trunc": "floor", "round": "trunc"}
CLOSING = {"(": ")", "[": "]", "{": "}"}
# What is computed by the compiler, or declares a template, has no mutant at run time.
NOT_AT_RUN_TIME = re.compile(r"\b(?:constexpr|static_assert|requires|concept|template|using|enum|default|delete|alignas)\b")


@dataclass(frozen=True)
class Site:
    """A place: text[begin:end], made of pieces in which other places may be, and of what a mutant has between them."""

    begin: int
    end: int
    kind: str
    change: str  # what a mutant does, for people
    pieces: tuple[tuple[int, int], ...]
    form: str  # of the text with a mutant: {on} is its test, {0}, {1} are the pieces


def blanked(text: str) -> str:
    """The text with spaces for comments, literals and directives, so that places stay where they are."""

    def spaces(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    def literal(match: re.Match[str]) -> str:
        return spaces(match) if match[0].startswith("/") else "_" * len(match[0])

    return DIRECTIVE.sub(spaces, COMMENT_OR_STRING.sub(literal, text))


def partners(tokens: list[re.Match[str]]) -> dict[int, int]:
    """Of each bracket, by its number among the tokens, the other one."""
    result, open_ones = {}, []
    for i, token in enumerate(tokens):
        if token[0] in CLOSING:
            open_ones.append(i)
        elif token[0] in CLOSING.values():
            result[i] = open_ones.pop()
            result[result[i]] = i
    return result


class Scanner:
    """Of one file."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.code = blanked(text)
        self.tokens = list(TOKEN.finditer(self.code))
        self.partner = partners(self.tokens)
        self.at = {token.start(): i for i, token in enumerate(self.tokens)}

    def trimmed(self, begin: int, end: int) -> tuple[int, int]:
        """Without spaces and comments around it."""
        part = self.code[begin:end]
        return begin + len(part) - len(part.lstrip()), begin + len(part.rstrip())

    def operand(self, i: int, step: int, level: int) -> tuple[int, int]:
        """The operand before (step -1) or behind (1) token number i, which binds as tightly as the level says."""
        opening, closing = ("(", "{", "["), (")", "}", "]")
        inner, outer = (opening, closing) if step > 0 else (closing, opening)
        j = i + step
        while 0 <= j < len(self.tokens):
            token = self.tokens[j][0]
            if token in inner:
                j = self.partner[j]
            elif token in outer or (LEVEL.get(token, 0) < level) or (step > 0 and LEVEL.get(token, 0) == level):
                break
            j += step
        here = self.tokens[i]
        if step > 0:
            return self.trimmed(here.end(), self.tokens[j].start() if j < len(self.tokens) else len(self.text))
        return self.trimmed(self.tokens[j].end() if j >= 0 else 0, here.start())

    def is_at_run_time(self, place: int) -> bool:
        """Whether nothing says that the compiler computes the statement up to the place."""
        begin = max(self.code.rfind(stop, 0, place) for stop in ";{}")
        return not NOT_AT_RUN_TIME.search(self.code, begin + 1, place)

    def binary(self) -> Iterator[Site]:
        """Comparisons, && and ||, and remainders."""
        for i, token in enumerate(self.tokens):
            old = token[0]
            if old not in SWAPPED:
                continue
            (a, b), (c, d) = self.operand(i, -1, LEVEL[old]), self.operand(i, 1, LEVEL[old])
            if a < b and c < d:
                new = SWAPPED[old]
                form = f"({{on}} ? ({{0}}) {new} ({{1}}) : ({{0}}) {old} ({{1}}))"
                yield Site(a, d, KIND.get(old, "boundary"), f"{old} to {new}", ((a, b), (c, d)), form)

    def ones(self) -> Iterator[Site]:
        """One that is added or subtracted."""
        for match in re.finditer(r"(?<=[\w)\]}])\s+([-+]) (1)(?![\w.'])", self.code):
            yield Site(match.start(2), match.end(2), "offset", f"{match[1]} 1 to {match[1]} 0", (), "({on} ? 0 : 1)")

    def conditions(self) -> Iterator[Site]:
        """Conditions of if, in place of which stands true or false, as a hash of the text has it."""
        for match in re.finditer(r"\bif \(", self.code):
            i = self.at[match.end() - 1]
            inside = self.trimmed(match.end(), self.tokens[self.partner[i]].start())
            text = self.code[slice(*inside)]
            if ";" in text or re.search(r"(?<![=!<>])=(?!=)", re.sub(r"\[.*", "", text)):
                continue  # declares something
            constant = "false" if hashlib.sha256(text.encode()).digest()[0] % 2 else "true"
            yield Site(*inside, "condition", f"if ({constant})", (inside,), f"({{on}} ? {constant} : static_cast<bool>({{0}}))")

    def calls(self) -> Iterator[Site]:
        """Calls of a minimum, a maximum, a rounding."""
        pattern = r"\bstd::(?:min|max|nearbyint|rint|floor|ceil|trunc|round)\b(<[^()<>]*>)?\(|(?<![\w.:])(?:ceil_div|round_up)\("
        for match in re.finditer(pattern, self.code):
            i = self.at[match.end() - 1]
            end = self.tokens[self.partner[i]].end()
            if re.match(r"\s*(?:const )?\{", self.code[end:]):
                continue  # a definition
            name = re.sub(r"std::|[<(].*", "", match[0])
            inside = (match.end(), end - 1)
            was = match[0] + "{0})"
            if name in ("ceil_div", "round_up"):
                commas = [t.start() for t in self.top_level_commas(i)]
                if len(commas) != 1:
                    continue
                pieces = self.trimmed(inside[0], commas[0]), self.trimmed(commas[0] + 1, inside[1])
                down = "({0}) / ({1})" + (" * ({1})" if name == "round_up" else "")
                yield Site(match.start(), end, "rounding", f"{name}: down", pieces, f"({{on}} ? {down} : {match[0]}{{0}}, {{1}}))")
            elif name in ("min", "max"):
                other = match[0].replace(name, "max" if name == "min" else "min", 1)
                form = f"({{on}} ? {other}{{0}}) : {was})"
                yield Site(match.start(), end, "extreme", f"{name} to {'max' if name == 'min' else 'min'}", (inside,), form)
            else:
                other = match[0].replace(name, ROUNDED[name], 1)
                form = f"({{on}} ? {other}{{0}}) : {was})"
                yield Site(match.start(), end, "rounding", f"{name} to {ROUNDED[name]}", (inside,), form)

    def top_level_commas(self, i: int) -> Iterator[re.Match[str]]:
        """Of the bracket that is token number i."""
        j = i + 1
        while j < self.partner[i]:
            if self.tokens[j][0] in CLOSING:
                j = self.partner[j]
            elif self.tokens[j][0] == ",":
                yield self.tokens[j]
            j += 1

    def fences(self) -> Iterator[Site]:
        """Fences and orders of memory."""
        for match in re.finditer(r"(?<![\w.:>-])[\w.:>-]*\bfence\(\);", self.code):
            inside = (match.start(), match.end() - 1)
            yield Site(match.start(), match.end(), "fence", "no fence", (inside,), "if (!{on}) {0};")
        for match in re.finditer(r"std::memory_order_(?:acquire|release|acq_rel|seq_cst)", self.code):
            span = (match.start(), match.end())
            yield Site(*span, "fence", "relaxed", (span,), "({on} ? std::memory_order_relaxed : {0})")

    def sites(self) -> list[Site]:
        """All places, in order."""
        finders = (self.binary, self.ones, self.conditions, self.calls, self.fences)
        found = [site for finder in finders for site in finder() if self.is_at_run_time(site.begin)]
        return sorted(found, key=lambda s: (s.begin, -s.end, s.kind != "condition"))


def with_mutants(text: str, chosen: dict[int, Site]) -> str:
    """The text with mutants, by their numbers. Sites lie in each other or apart."""

    def outer_first(site: Site) -> tuple[int, int, int, bool]:
        return (site.begin, -site.end, -len(site.pieces), site.kind != "condition")

    def rendered(begin: int, end: int, inside: list[tuple[int, Site]]) -> str:
        result, at = "", begin
        while inside:
            number, site = inside[0]
            within = [(n, s) for n, s in inside[1:] if s.end <= site.end]
            inside = [(n, s) for n, s in inside[1:] if s.end > site.end]
            if inside and inside[0][1].begin < site.end:
                raise ValueError(f"two places overlap: {text[site.begin : site.end]!r}, {text[inside[0][1].begin : inside[0][1].end]!r}")
            parts = [rendered(*piece, [(n, s) for n, s in within if piece[0] <= s.begin and s.end <= piece[1]]) for piece in site.pieces]
            result += text[at : site.begin] + site.form.format(*parts, on=f"dynquant_mutant({number})")
            at = site.end
        return result + text[at:end]

    return rendered(0, len(text), sorted(chosen.items(), key=lambda pair: outer_first(pair[1])))
