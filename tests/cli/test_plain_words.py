"""Pages and help texts are in the words of English software: no words that translations bring along."""

import ast
import re
from pathlib import Path

import pytest
import typer

import ssptool
from ssptool.cli.app import SUMMARIES, app
from tests.cli.test_documentation import on_every_page

TRANSLATED = {
    r"refuse[sd]? [a-z0-9 ]*by name": "report as unsupported; reject",
    r"besides?": "next to; in addition to; in a mixed system",
    r"mend(s|ed|ing)?": "fix, repair, correct",
    r"strangers?": "untrusted source",
    r"rights of the administrator": "administrator rights",
    r"without leave": "without permission",
    r"anew": "again; from the start",
    r"go(es)? on": "continue",
    r"retreats?": "fallback",
    r"courses?": "profile; approximation over a step",
    r"(brings?|bringing|brought)": "include, contain, cause",
    r"wears?": "have",
    r"whoever": "anyone who",
    r"(?<!there )(is|are) no (system|file|component|number|signature)s?": "is not a",
    r"not there any more": "does not exist any more",
}
"""Words whose use is another one in English software, and what says the same."""


def translated(text: str) -> list[str]:
    """The words in a text, each with its replacements."""
    found = ((re.search(rf"\b{words}\b", text, re.IGNORECASE), better) for words, better in TRANSLATED.items())
    return [f"{match[0]} → {better}" for match, better in found if match]


def prose(text: str) -> str:
    """Text of a page without code: blocks, lines that are indented by four, code in lines, and targets of links."""
    text = re.sub(r"```.*?```|^ {4,}\S[^\n]*$|`[^`\n]*`|\]\([^)]*\)", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\s+", " ", text)


@on_every_page
def test_pages_use_words_of_english_software(page):
    assert translated(prose(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("name", SUMMARIES)
def test_help_uses_words_of_english_software(name):
    command = typer.main.get_command(app).commands[name]
    for each in (command, *getattr(command, "commands", {}).values()):
        for text in filter(None, (each.help, *(one.help for one in each.params))):
            assert translated(text) == [], text


PACKAGE = Path(ssptool.__file__).parent
RIDDLE = re.compile(r"(?<!there )\b(?:is|are) no (?!more\b|longer\b|such\b)\w")
"""Negation of a noun, where English says "is not a"."""


def test_messages_say_is_not():
    """In texts that are shown: all but docstrings."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = (one for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str))
        matches = ((one, RIDDLE.search(one.value)) for one in texts if id(one) not in alone)
        found += [f"{path.name}:{one.lineno} {match[0]}" for one, match in matches if match]
    assert found == []
