"""Figures of README files and pages: read from the page, measured by the command beside them."""

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ssptool
from ssptool.cli.app import command
from ssptool.types import Trace
from tests.systems.claims.claim import Absolute, AtLeast, AtMost, Claim, Tolerance

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Run:
    """A run of `ssptool run`: exit status, recorded signals, statistics of the manifest."""

    status: int
    trace: Trace
    statistics: dict[str, Any]


@lru_cache(maxsize=64)
def run(words: tuple[str, ...]) -> Run:
    """Call `ssptool run WORDS` at the root of the project.

    Raises
    ------
    RuntimeError
        The command refuses the run.
    """
    printed = StringIO()
    with TemporaryDirectory() as folder, chdir(ROOT):
        file = Path(folder) / "results.parquet"  # read six times as fast as CSV
        before, sys.argv = sys.argv, ["ssptool", "run", *words, "--in-process", "--output", str(file)]
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                command()
        except SystemExit as ending:
            status = int(ending.code or 0)
        finally:
            sys.argv = before
        if status > 1:
            raise RuntimeError(f"ssptool run {shlex.join(words)}: {printed.getvalue()}")
        manifest = ssptool.read_manifest(file)
        return Run(status, ssptool.read_trace(file), manifest["statistics"])


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def quoted(page: str, sentence: str) -> list[str]:
    """The numbers that stand for each `#` of a sentence on a page; line breaks do not matter."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in re.split("#", sentence)]
    spaces = [re.sub(r"^\s.*", r"\\s+", part[:1]) if part[:1].isspace() else "" for part in sentence.split("#")]
    ends = [r"\s+" if part[-1:].isspace() else "" for part in sentence.split("#")]
    pattern = r"(−?[\d.]+(?:e-?\d+)?)".join(a + b + c for a, b, c in zip(spaces, parts, ends, strict=True))
    found = re.search(pattern, text_of(page))
    if not found:
        raise LookupError(f"{page} does not say: {sentence}")
    return list(found.groups())


@dataclass(frozen=True)
class Row:
    """A row of a table of runs: its first cell, and (text, options of first cell and header) of the others."""

    name: str
    cells: tuple[tuple[str, tuple[str, ...]], ...]


def table(page: str, header: str) -> Iterator[Row]:
    """Rows of the table whose header begins so; options stand as code in the header and in the first cells."""
    lines = text_of(page).splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith(f"| {header}")), None)
    if start is None:
        raise LookupError(f"{page} has no table that begins with: {header}")
    (corner, *columns), _, *rows = map(_cells, takewhile(lambda line: line.startswith("|"), lines[start:]))
    for first, *texts in rows:
        pairs = zip(texts, columns, strict=True)
        yield Row(first, tuple((text, options(corner, first, column)) for text, column in pairs if text))


def options(*texts: str) -> tuple[str, ...]:
    """Options of a command that stand as code in texts, without the name of the command."""
    words = shlex.split(" ".join(code for text in texts for code in re.findall("`(.*?)`", text)))
    return tuple(word for word in words if word not in {"ssptool", "run", "…"})


def run_figure(text: str, words: tuple[str, ...], measure: Callable[[Run], float]) -> Claim:
    """A figure that is measured from one run; `fails` stands for a run that ends with exit status 1."""
    name = f"ssptool run {shlex.join(words)}: {text}"
    if text == "fails":
        return figure(name, "1", lambda: run(words).status)
    return figure(name, text, lambda: measure(run(words)))


def figure(name: str, text: str, measure: Callable[[], float]) -> Claim:
    """The claim that a measured number is as a page states it: to the digits stated, or below (`<`) or above (`>`)."""
    return Claim(name, "the page and the command on it", value(text), _tolerance(text), measure, digits=6)


def value(text: str) -> float:
    """The number at the beginning of a text, behind `<` or `>`."""
    return float(_number(text)[0].replace("−", "-"))


def _tolerance(text: str) -> Tolerance:
    if text[0] in "<>":
        return AtMost() if text[0] == "<" else AtLeast()
    number = _number(text)
    decimals, exponent = len((number[1] or ".")[1:]), int(number[2] or 0)
    return Absolute(0.6 * 10.0 ** (exponent - decimals))


def _number(text: str) -> re.Match[str]:
    found = re.match(r"[−-]?\d+(\.\d+)?(?:e(-?\d+))?", text.lstrip("<> "))
    if not found:
        raise ValueError(f"no number: {text}")
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def unmade(page: str, figures: Iterable[Claim]) -> set[str]:
    """Numbers of three digits or with an exponent in the text of a page that are neither among the figures nor in the
    documents beside the page; code is left out.
    """
    beside = (file.read_text(encoding="utf-8") for file in (ROOT / page).parent.rglob("*.ss?"))
    known = {abs(float(number)) for text in beside for number in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", text)}
    known |= {abs(claim.expected) for claim in figures}
    text = re.sub(r"^    .*$|`[^`]*`", "", text_of(page), flags=re.MULTILINE)
    numbers = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?!\w)", text)
    precise = {number for number in numbers if "e" in number or len(number.lstrip("0.").replace(".", "")) > 2}
    return {number for number in precise if float(number) not in known}
