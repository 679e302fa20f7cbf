"""Tools that answer with pictures: the diagram of a system, and signals of runs over time, as PNG."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

import ssptool
from ssptool.cli.mcp_server.folder import Folder
from ssptool.cli.mcp_server.tools import Patterns, System, Variant
from ssptool.tempfiles import TemporaryFolder


class PngAnswer(NamedTuple):
    """A picture with a sentence about it."""

    text: str
    png: bytes


class PictureTools:
    """The tools that draw systems and runs of a folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def draw(
        self,
        system: System = "",
        variant: Variant = "",
        level: Annotated[str, Field(description="Full name of the nested system to draw; default: the root.")] = "",
        highlight: Annotated[
            Sequence[Literal["loops", "findings"]], Field(description="Mark algebraic loops, or findings.")
        ] = (),
    ) -> PngAnswer:
        """Draw the diagram of a system, as a picture: its elements with connectors, and the connections."""
        path = self._folder.system(system)
        drawing = ssptool.draw(path, variant=variant or None, level=level, highlight=list(highlight))
        sheet = drawing.sheet
        told = f"{sheet.name}: {len(sheet.blocks)} elements, {len(sheet.lines)} lines"
        with TemporaryFolder() as folder:
            file = Path(folder, "diagram.png")
            drawing.save(file)
            return PngAnswer(told, file.read_bytes())

    def plot(
        self,
        runs: Annotated[
            Sequence[str],
            Field(min_length=1, description="Runs in memory, such as run1, or result files of the folder."),
        ],
        signals: Patterns = (),
    ) -> PngAnswer:
        """Plot signals of runs over time, as a picture: one panel for each unit."""
        found = {name: self._folder.run(name) for name in runs}
        with TemporaryFolder() as folder:
            file = Path(folder, "plot.png")
            ssptool.plot(found, file, signals=list(signals))
            return PngAnswer(f"signals of {', '.join(found)} over time", file.read_bytes())
