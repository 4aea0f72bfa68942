"""The errors of the command."""


class Refusal(Exception):
    """What is wrong with the command's arguments or surroundings, as a sentence for its user."""
