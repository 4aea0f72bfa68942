"""English texts, from files of chatterbot-corpus and of Debian's packages, and their tokens. Needs no packages."""

import hashlib
import random
import re
from collections.abc import Iterable

LEAST_WORDS = 5


def items(yaml: str) -> list[str]:
    """The strings of `- - question`, `  - answer`. A string goes on in lines that are indented deeper."""
    joined = re.sub(r"\n {4,}(?!- )", " ", yaml[yaml.index("conversations:") :])
    found = re.findall(r"^(?:- | {2})- (.+?)\s*$", joined, re.MULTILINE)
    return [item[1:-1].replace("''", "'") if item[0] in "'\"" and item[0] == item[-1] else item for item in found]


def sentences(files: Iterable[str], count: int) -> list[str]:
    """Distinct ones of ASCII, in an order that mixes topics and lengths."""
    found = dict.fromkeys(item for file in files for item in items(file))
    chosen = [text for text in found if text.isascii() and len(text.split()) >= LEAST_WORDS]
    random.Random(0).shuffle(chosen)
    return chosen[:count]


def descriptions(packages: str) -> dict[str, str]:
    """The section of each package by its description of one line, in an order that other packages do not change: by the
    hash of the description. packages: what apt-cache dumpavail prints."""
    found: dict[str, str] = {}
    for package in packages.split("\n\n"):
        fields = dict(re.findall(r"^(Section|Description(?:-en)?): (.+)$", package, re.MULTILINE))
        text = fields.get("Description", fields.get("Description-en", ""))
        if text.isascii() and "Section" in fields:
            found.setdefault(text, fields["Section"])
    return dict(sorted(found.items(), key=lambda one: hashlib.sha256(one[0].encode()).digest()))


class Tokenizer:
    """BERT's WordPiece of lower case ASCII: the longest pieces first; a word with an unknown piece is [UNK]."""

    def __init__(self, vocabulary: str) -> None:
        self._ids = {piece: i for i, piece in enumerate(vocabulary.split("\n"))}

    def _word(self, word: str) -> list[int]:
        result, start = [], 0
        while start < len(word):
            pieces = ((end, ("##" if start else "") + word[start:end]) for end in range(len(word), start, -1))
            end, piece = next((one for one in pieces if one[1] in self._ids), (0, "[UNK]"))
            if not end:
                return [self._ids[piece]]
            result.append(self._ids[piece])
            start = end
        return result

    def __call__(self, text: str) -> list[int]:
        words = re.findall(r"[a-z0-9]+|[^a-z0-9\s]", text.lower())
        return [self._ids["[CLS]"], *(token for word in words for token in self._word(word)), self._ids["[SEP]"]]
