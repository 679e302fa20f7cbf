"""Docstrings name their subject: they begin with a noun or a verb."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "ssptool"
HEADLESS = {
    *("What", "How", "Where", "Which", "Who", "When", "Why", "Whose", "Whatever", "That"),
    *("Of", "From", "Into", "Such", "Else", "Its", "It", "Be", "Have", "Has", "They", "Those"),
    *("By", "For", "With", "Without", "As", "To", "Over", "Under", "Behind", "Beside", "Beyond", "Inside"),
    *("Since", "Until", "While", "After", "Before", "Then", "So", "Also", "But", "Out"),
}
"""First words of texts whose subject is elsewhere."""


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Texts that stand alone in a module, a class or a function: docstrings, also those below values."""
    for node in ast.walk(tree):
        body = getattr(node, "body", [])
        for one in body if isinstance(body, list) else []:
            match one:
                case ast.Expr(value=ast.Constant(value=str()) as text):
                    yield text


def test_docstrings_begin_with_a_noun_or_a_verb():
    found = [
        f"{path.relative_to(SOURCE)}:{one.lineno} {one.value.strip().splitlines()[0]}"
        for path in sorted(SOURCE.rglob("*.py"))
        for one in docstrings(ast.parse(path.read_text(encoding="utf-8")))
        if (first := re.match(r"\W*(\w+)", one.value)) and first[1] in HEADLESS
    ]
    assert found == []
