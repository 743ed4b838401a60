"""Kinds of checks, their numbers stripped, and what each is about."""

import re

# What is stripped of a check's name.
NUMBERS = (
    (re.compile(r"^at scale [^,]+, "), ""),
    (re.compile(r" at scale [^:]+"), " at scale"),
    (re.compile(r" at margin .*"), " at a margin"),
    (re.compile(r"^saddle \d+"), "saddle"),
    (re.compile(r"exponent behind .*"), "exponent behind"),
    (re.compile(r"^flows apart when .*"), "flows apart"),
)
# The objects that a check compares, by the first pattern that fits its kind.
ABOUT = (
    (r"limit: distance from the proved", {"limit", "proof"}),
    (r"limit: ", {"limit"}),
    (r"sample flow: relative residual", {"sample flow"}),
    (r"sample flow: ", {"limit", "sample flow"}),
    (
        r"parameter flow( at scale)?: (relative residual|invariant|null-space|singular)",
        {"parameter flow"},
    ),
    (r"parameter flow( at scale)?: ", {"limit", "map", "parameter flow"}),
    (r"logarithmic flow at scale: ", {"parameter flow", "logarithmic flow"}),
    (r"logarithmic flow: relative residual", {"logarithmic flow"}),
    (r"logarithmic flow: ", {"limit", "map", "logarithmic flow"}),
    (r"loss above ", {"bound", "sample flow", "parameter flow", "logarithmic flow"}),
    (r"saddles?: ", {"path", "plateau flow"}),
    (r"training: (relative residual|invariant|null-space)", {"training"}),
    (r"training: ", {"limit", "map", "training"}),
    (r"layers' flow: ", {"layers' flow", "direction"}),
    (r"flow: ", {"direction"}),
    (r"layers: ", {"limit", "direction"}),
    (r"direction: ", {"limit", "direction"}),
    (r"stationary point: ", {"direction"}),
    (r"flows apart", {"sample flow", "parameter flow"}),
)


def kind_of(name):
    """The name of a check without its numbers."""
    for pattern, words in NUMBERS:
        name = pattern.sub(words, name)
    return name


def objects_of(kind):
    """What a check of this kind compares."""
    for pattern, objects in ABOUT:
        if re.match(pattern, kind):
            return objects
    raise KeyError(f"nothing says what the check {kind!r} is about")
