"""Draw docs/images/first_look.svg: what three commands print about the dual-mass oscillator, in short."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
SYSTEM = ROOT / "systems" / "dual_mass_oscillator"
PICTURE = ROOT / "docs" / "images" / "first_look.svg"

WIDEST = 108
"""Characters of a line; longer ones end in an ellipsis."""

LINE, CHARACTER, MARGIN = 18, 7.83, 16
"""Height of a line and width of a character of 13 px, and the margin [px]."""

STYLE = """
text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; fill: #24292f }
rect { fill: #f6f8fa; stroke: #d0d7de }
.typed, .stated { font-weight: bold } .wrong { fill: #cf222e } .hint { fill: #1a7f37 } .stated { fill: #0550ae }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } rect { fill: #161b22; stroke: #30363d }
  .wrong { fill: #ff7b72 } .hint { fill: #7ee787 } .stated { fill: #79c0ff }
}
"""
CLASSES = {"$ ": "typed", "error": "wrong", "Hint:": "hint", "accuracy": "stated", "algebraic loop {": "stated"}


def printed(folder: Path, *arguments: str) -> list[str]:
    command = Path(sys.executable).with_name("ssptool")
    done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()


def between(lines: list[str], first: str, last: str) -> list[str]:
    """The lines from one that contains `first` to the next one that contains `last`."""
    begin = next(number for number, line in enumerate(lines) if first in line)
    end = next(number for number, line in enumerate(lines[begin:], begin) if last in line)
    return lines[begin : end + 1]


def shown() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(SYSTEM, folder / "plant")
        structure = folder / "plant" / "SystemStructure.ssd"
        right = structure.read_text(encoding="utf-8")
        structure.write_text(right.replace('startConnector="x1"', 'startConnector="y1"', 1), encoding="utf-8")
        yield "$ ssptool validate plant"
        yield from between(printed(folder, "validate", "plant"), "SSD-CONN-002", "Hint:")
        structure.write_text(right, encoding="utf-8")
        yield from ("", "$ ssptool graph plant")
        yield from between(printed(folder, "graph", "plant"), "System1 ⇄ System2", "iterated on")
        yield from ("", "$ ssptool run plant --accuracy check")
        lines = printed(folder, "run", "plant", "--accuracy", "check")
        yield from (line for line in lines if re.match("run|accuracy|warnings|results", line))


def drawn(lines: list[str]) -> str:
    width, height = WIDEST * CHARACTER + 2 * MARGIN, (len(lines) + 1) * LINE + MARGIN
    texts = []
    for number, line in enumerate(lines):
        cut = line if len(line) <= WIDEST else f"{line[: WIDEST - 1]}…"
        marked = "wrong" if set(cut.strip()) == {"~"} or set(cut.strip(" |")) == {"~"} else ""
        marked = marked or next((kind for words, kind in CLASSES.items() if cut.lstrip().startswith(words)), "")
        name = f' class="{marked}"' if marked else ""
        texts.append(f'<text{name} x="{MARGIN}" y="{MARGIN + (number + 1) * LINE - 5}">{escape(cut)}</text>')
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n'
        f'<style>{STYLE}</style>\n<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" rx="6"/>\n'
        + "\n".join(texts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(list(shown())), encoding="utf-8")
