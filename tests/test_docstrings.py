"""Docstrings name their subject: they begin with a noun or a verb."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ssptool
from ssptool.public_names import PARTS

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


OTHER_WORDS = re.compile(
    r"[;,] else\b|; without\b|\bof which\b|\bwhoever\b|\banew\b|\bbeside\b|\bgo(?:es)? on\b|\bnothing but\b|"
    r"\b(?:it|that|this|which) is no\b|\bbrings?\b|\blead(?:s|ing)? (?:to|out|into)\b|\bmend(?:s|ed)?\b|"
    r"\bstands? for\b|\bas of\b|\bmeanwhile\b|\bbut for\b",
    re.IGNORECASE,
)
"""Forms of defaults, and translated words, in place of which help and pages have plain ones."""


def public_docstrings() -> Iterator[tuple[str, str]]:
    """Docstrings of public functions and classes, and of their public members."""
    for module in (ssptool, *(getattr(ssptool, part) for part in PARTS)):
        for name in module.__all__:
            public: Any = getattr(module, name)
            yield name, inspect.getdoc(public) or ""
            for member, value in vars(public).items() if inspect.isclass(public) else ():
                if not member.startswith("_"):
                    yield f"{name}.{member}", getattr(value, "__doc__", None) or ""


def test_public_docstrings_have_plain_words():
    found = {name: [one[0] for one in OTHER_WORDS.finditer(text)] for name, text in public_docstrings()}
    assert len(found) > 300
    assert {name: words for name, words in found.items() if words} == {}
