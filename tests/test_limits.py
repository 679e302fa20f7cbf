"""docs/limits.md has all that the source refuses by name, in the words of the messages."""

import ast
import re
import runpy
from pathlib import Path

import pytest

import ssptool
from ssptool.engine.failure import Unsupported
from ssptool.exceptions import ContradictingSettings

ROOT = Path(__file__).parents[1]
SYSTEM = ROOT / "systems" / "dual_mass_oscillator"


@pytest.fixture(scope="module")
def limits():
    return runpy.run_path(str(ROOT / "docs" / "limits.py"))


@pytest.fixture(scope="module")
def page(limits):
    return limits["page"]()


def test_the_generated_page_is_current(page):
    assert (ROOT / "docs" / "limits.md").read_text(encoding="utf-8") == page, "run `make docs`"


EXCEPTIONS = ("EditError", "Unsupported", "UnsupportedByFmu", "ContradictingSettings", "UnusableFmu")


def test_every_file_that_refuses_is_in_a_section(limits):
    missing = []
    for file in (ROOT / "ssptool").rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        called = {node.func.id for node in calls if isinstance(node.func, ast.Name)} & set(EXCEPTIONS)
        for name in called:
            places = [place for one in limits["SECTIONS"] if name in one.names for place in one.places]
            if not any(file.is_relative_to(ROOT / "ssptool" / place) for place in places):
                missing.append((file.relative_to(ROOT).as_posix(), name))
    assert missing == []


def test_the_exceptions_of_refusals_are_those_of_the_sections(limits):
    names = {name for section in limits["SECTIONS"] for name in section.names}
    kinds = {Unsupported, *Unsupported.__subclasses__(), ContradictingSettings}
    assert {kind.__name__ for kind in kinds} <= names


@pytest.mark.parametrize(
    "options",
    [
        {"master": "jacobi", "approximation": "interpolate"},
        {"integrator": "adams", "implementation": "cs"},
        {"approximation": "hold", "input_order": 2},
        {"relaxation": 0.5, "acceleration": "newton"},
    ],
)
def test_what_a_run_refuses_stands_on_the_page_word_for_word(options, page):
    """Apart from what stands in italics."""
    with pytest.raises(ContradictingSettings) as refused:
        ssptool.plan(SYSTEM, **options)
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.count(" | ") == 1]
    texts = ["; ".join(row) for row in rows]
    patterns = [".*".join(map(re.escape, re.split(r"\*[^*]+\*", text))) for text in texts]
    assert [text for text, one in zip(texts, patterns, strict=True) if re.fullmatch(one, str(refused.value))]


def test_settings_that_exclude_each_other_are_told_with_a_reason_and_a_way_out(page):
    section = page[page.index("## Settings") : page.index("## Export as one FMU")]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    assert rows and all(len(row) == 2 and ": " in row[0] and row[1] for row in rows), rows
