"""Elements that pages copy: systems of their own in a temporary folder that other studios of the user can read."""

import shutil
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from ssptool.editing.editor import Editor
from ssptool.errors import WrongUsage
from ssptool.network.tree import ElementPath
from ssptool.tempfiles import TemporaryFolder


class CopiedElements:
    """The copies of one studio; `folder` is made when it is first needed."""

    def __init__(self) -> None:
        self._made: TemporaryFolder | None = None
        self._numbers = count(1)

    @property
    def folder(self) -> Path:
        if self._made is None:
            self._made = TemporaryFolder()
            Path(self._made.name, "copied").mkdir()
        return Path(self._made.name, "copied")  # the folder around is locked, and saving locks the folder of the file

    def write(self, editor: Editor, elements: Sequence[ElementPath], name: str) -> None:
        """Write elements of a system as the file of this name. Raises WrongUsage, EditError."""
        if Path(name).name != name or Path(name).suffix != ".ssp":
            raise WrongUsage(f"{name!r} is not the name of a package")
        editor.copy(self.folder / name, *elements)

    def own(self, file: str) -> Path:
        """A copy of the file of another studio, which may end before this one."""
        if not Path(file).is_file():
            raise WrongUsage("the copied elements are there no longer: the studio that copied them has ended")
        place = self.folder / f"from-{next(self._numbers)}"
        place.mkdir()
        return Path(shutil.copy(file, place))

    def close(self) -> None:
        if self._made is not None:
            self._made.cleanup()
