"""Errors in the words of the command line: options as they are typed, not arguments of Python."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from limitpoint.errors import LimitpointError, MissingExtra, NoTheoremApplies

__all__ = ["as_typed", "typed"]

# What follows the name of an argument that a message is about.
VERBS = r"(?= (?:and \S+ must|must|has|does|needs)\b)"
# "give norm, scale or log_scale, not two of them"
CHOICE = re.compile(r"^give [\w, -]+(?=, not )")
# What to use instead, of which the arguments are options.
MAKER = re.compile(r"Init\.(\w+)\([^)]*\)(?: or Init\([^)]*\))?")
# Errors that have been through it carry this attribute.
TYPED = "is_typed"
RANDOM = "a random start, the default"


@contextmanager
def as_typed(options: Mapping[str, str]) -> Iterator[None]:
    """Name these arguments as the options that they come from, in errors about them.

    Of several around each other the innermost knows best.
    """
    try:
        yield
    except (MissingExtra, NoTheoremApplies):
        raise
    except LimitpointError as error:
        if not hasattr(error, TYPED):
            error.args = (typed(str(error), options), *error.args[1:])
            setattr(error, TYPED, True)
        raise


def typed(message: str, options: Mapping[str, str]) -> str:
    """The message with options for arguments.

    A name with an underscore is an argument wherever it stands. One that is also a word is where
    the sentence is about it: "depth must be …", "a paired network has no depth".
    """
    message = message.replace(" (--filters)", "")
    message = MAKER.sub(lambda found: options.get(found[1], RANDOM), message)
    for name, option in options.items():
        if "_" in name:
            message = re.sub(rf"(?<![\w.\-]){name}(?![\w(=]| = )", option, message)
        else:
            message = re.sub(rf"(?<![\w.\-]){name}{VERBS}", option, message)
            message = re.sub(rf"(?<=has no ){name}\b|(?<=needs ){name}\b", option, message)
    return CHOICE.sub(
        lambda found: re.sub(r"(?<!-)\b\w+", lambda word: options.get(word[0], word[0]), found[0]),
        message,
    )
