"""Docstrings name their subject: they begin with a noun or a verb."""

import ast
import inspect
import io
import re
import tokenize
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


INNER = (
    *("documents", "drawing", "editing", "engine", "exporting", "fmu", "language_server", "network", "results"),
    *("rules", "studies", "studio"),
)
"""Packages whose internal docstrings have plain words, too."""
INNER_WORDS = re.compile(
    r"[;,] else\b|\bor else\b|\bwhoever\b|\banew\b|\bafresh\b|\bbeside\b(?!`)|\bgo(?:es)? on\b|\bnothing but\b|"
    r"\b(?:it|that|this|which) is no\b(?! longer)|\bbrings?\b|\bleads? (?:into|out)\b|\bmend(?:s|ed)?\b|\bas of\b|"
    r"\bmeanwhile\b|\bbut for\b|\bso many\b|\bwhat else\b|\blet(?:s)? go\b|\bcomes? of\b|"
    r"\bat rest\b|\b(?:is|are) told\b(?! apart)|\bfor the moment\b|\bgives? up\b|\bholds? for\b|\bsave for\b|\blest\b",
    re.IGNORECASE,
)
"""Defaults and translated words that have plain forms; see `OTHER_WORDS`."""


def inner_docstrings() -> Iterator[tuple[str, str]]:
    """Docstrings in `INNER`. Those of rules are texts of the catalogue, which users see."""
    for path in sorted(one for package in INNER for one in (SOURCE / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        rules = {id(node.body[0]) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _is_rule(node)}
        texts = {id(one.value): id(one) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
        for one in docstrings(tree):
            if texts[id(one)] not in rules:
                yield f"{path.relative_to(SOURCE)}:{one.lineno}", inspect.cleandoc(str(one.value))


def _is_rule(node: ast.FunctionDef) -> bool:
    called = (one.func for one in node.decorator_list if isinstance(one, ast.Call))
    return any(isinstance(one, ast.Attribute) and one.attr.endswith("rule") for one in called)


def test_inner_docstrings_have_plain_words():
    found = {
        place: [one[0] for one in INNER_WORDS.finditer(" ".join(text.split()))] for place, text in inner_docstrings()
    }
    assert len(found) > 5000
    assert {place: words for place, words in found.items() if words} == {}


def sentences_in_place_of_names(text: str) -> Iterator[str]:
    """Lines of sections of numpydoc that should be names of their items, and are sentences."""
    lines, section = text.splitlines(), False
    for line, rule in zip(lines, [*lines[1:], ""], strict=True):
        if line and re.fullmatch("-{5,}", rule):
            section = line in ("Parameters", "Attributes", "Raises")
        elif section and line[:1].strip() and line.endswith("."):
            yield line


def test_items_of_sections_are_on_lines_of_their_own():
    found = {place: [*sentences_in_place_of_names(text)] for place, text in inner_docstrings()}
    assert {place: lines for place, lines in found.items() if lines} == {}


def comment_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Comments of a file of Python or C++, line by line with their numbers."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string.lstrip("#:")
    else:
        for number, line in enumerate(text.splitlines(), 1):
            if found := re.search(r"(?:^ *|  )//(.*)", line):
                yield number, found[1]


def comments(path: Path) -> Iterator[tuple[str, str]]:
    """Comments on consecutive lines as one text, with the place of its first line."""
    begin, end, text = 0, 0, ""
    for number, line in comment_lines(path):
        if text and number != end + 1:
            yield f"{path.relative_to(SOURCE)}:{begin}", " ".join(text.split())
            text = ""
        begin, end, text = begin if text else number, number, f"{text} {line}"
    if text:
        yield f"{path.relative_to(SOURCE)}:{begin}", " ".join(text.split())


def test_comments_have_plain_words():
    found = {
        place: [one[0] for one in INNER_WORDS.finditer(text)]
        for ending in ("*.py", "*.cpp", "*.hpp", "*.h")
        for package in INNER
        for path in (SOURCE / package).rglob(ending)
        for place, text in comments(path)
    }
    assert len(found) > 2500
    assert {place: words for place, words in found.items() if words} == {}
