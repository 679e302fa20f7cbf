"""Code lenses above a system, and their commands: run, plan and draw it as the command line does.

A command works on the files as they are saved, in a process of its own, and its result opens in the editor or browser.
"""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types

from ssptool.documents import ssd
from ssptool.documents.document import Document
from ssptool.language_server.snapshot import SystemSnapshot
from ssptool.tempfiles import TemporaryFolder


class SystemCommand(NamedTuple):
    """A command of ssptool: its title, its steps, and the file that it writes (`""`: show its printed output).

    In the steps, `{system}` and `{folder}` are replaced by the system and a temporary folder.
    """

    title: str
    steps: tuple[tuple[str, ...], ...]
    made: str


COMMANDS: Mapping[str, SystemCommand] = {
    "ssptool.run": SystemCommand(
        "Run",
        (
            ("run", "{system}", "--output", "{folder}/results.csv"),
            ("report", "{system}", "{folder}/results.csv", "--output", "{folder}/report.html"),
        ),
        "report.html",
    ),
    "ssptool.plan": SystemCommand("Plan", (("plan", "{system}"),), ""),
    "ssptool.draw": SystemCommand("Draw", (("draw", "{system}", "--output", "{folder}/diagram.html"),), "diagram.html"),
}


def lenses(snapshot: SystemSnapshot, document: Document) -> list[types.CodeLens]:
    """One lens for each command, at the root of a system structure."""
    if not isinstance(document.root, ssd.SystemStructureDescription):
        return []
    place = snapshot.places(document).range(*snapshot.extent(document, document.root))
    here = types.Range(place.start, place.start)
    file = str(snapshot.path(document.name))
    return [types.CodeLens(here, types.Command(verb.title, name, arguments=[file])) for name, verb in COMMANDS.items()]


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """Result of a command: a file to show, or an error message."""

    file: Path | None
    problem: str = ""


@dataclass(slots=True, eq=False)
class CommandRunner:
    """Runs commands, and keeps the files that they write until the server ends."""

    _folder: TemporaryFolder | None = None
    _number: int = 0

    async def carry_out(self, verb: SystemCommand, system: Path, structure: Path) -> CommandOutcome:
        """`structure` is the document whose lens was chosen: in a system with several, the variant."""
        if self._folder is None:
            self._folder = TemporaryFolder()
        self._number += 1
        folder = Path(self._folder.name, str(self._number))
        folder.mkdir()
        variant = ["--variant", structure.name] if system.is_dir() else []
        printed = ""
        for step in verb.steps:
            words = [one.format(system=system, folder=folder) for one in step]
            status, printed, problem = await _ssptool(*words, *variant)
            if status != 0:
                return CommandOutcome(None, problem or printed)
        if verb.made:
            return CommandOutcome(folder / verb.made)
        told = folder / f"{verb.title.lower()}.txt"
        told.write_text(printed, encoding="utf-8")
        return CommandOutcome(told)

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()


async def _ssptool(*words: str) -> tuple[int, str, str]:
    """Run ssptool: exit status, standard output and standard error."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "ssptool", *words)
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    try:
        printed, problem = await process.communicate()
    except asyncio.CancelledError:
        process.terminate()
        raise
    return process.returncode or 0, printed.decode(errors="replace"), problem.decode(errors="replace").strip()
