"""Formulas in running text, kept from being read as Markdown."""

__all__ = ["as_markdown"]

SPECIAL = {
    "&": "&amp;",
    "<": "&lt;",
    "[": "&#91;",
    "]": "&#93;",
    "*": "\\*",
    "_": "\\_",
    "`": "\\`",
    "|": "\\|",
}


def as_markdown(text: str) -> str:
    """The text with every character that Markdown would take for its own escaped.

    Examples
    --------
    >>> as_markdown("E[w] < 1")
    'E&#91;w&#93; &lt; 1'
    """
    return "".join(SPECIAL.get(letter, letter) for letter in text)
