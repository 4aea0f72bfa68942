"""The errors of the command."""

import re


class Refusal(Exception):
    """What is wrong with the command's arguments or surroundings, as a sentence for its user."""


def printable(text: str) -> str:
    """Control characters, which a terminal would obey, as \\x1b: names come from models."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found[0]):02x}", text)
