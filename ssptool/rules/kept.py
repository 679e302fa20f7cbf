"""Unchanged data that one check keeps for the next check of the same system."""

from collections.abc import Iterable

from lxml import etree

from ssptool.documents import ssd
from ssptool.documents.saving import FileState
from ssptool.rules.fmu_files import FmuFile
from ssptool.rules.subjects import File, Package, Structure

_OUTSIDE = b"../"
_SOURCE = b" source="


class Kept:
    """Cache that is passed from one check of a system to the next, while somebody edits the system.

    It contains FMUs, by the state of their files; documents, by their bytes, whose trees must not be edited; and
    components without findings. Data that a check of the whole system did not use are dropped after it.
    """

    def __init__(self) -> None:
        self._fmus: dict[tuple[str, FileState], FmuFile] = {}
        self._used: dict[tuple[str, FileState], FmuFile] = {}
        self.files: dict[str, File] = {}
        self._clean: dict[str, CleanComponents] = {}

    def fmu(self, name: str, state: FileState | None) -> FmuFile | None:
        """The FMU of an entry whose file has not changed."""
        known = None if state is None else self._fmus.get((name, state))
        return known if known is None else self.keep_fmu(name, state, known)

    def keep_fmu(self, name: str, state: FileState | None, fmu: FmuFile) -> FmuFile:
        if state is not None:
            self._used[name, state] = fmu
        return fmu

    def clean_components(self, structure: Structure, tools: Iterable[str]) -> "CleanComponents":
        """Components of a structure without findings, while nothing else that their rules read has changed."""
        around = [etree.tostring(part, with_tail=False) for part in structure.root if not isinstance(part, ssd.System)]
        context = structure.version, tuple(around), structure.archive.names(), frozenset(tools)
        known = self._clean.get(structure.file.name)
        if known is None or known.context != context:
            known = self._clean[structure.file.name] = CleanComponents(context)
        return known

    def finish(self, package: Package) -> None:
        """End a check. If a document cannot be read at present, data about the files that it refers to are kept."""
        if all(file.valid for file in package.files):
            self._fmus.clear()
            self.files = {file.name: file for file in package.files if file.name in self.files}
            for clean in self._clean.values():
                clean.forget_unused()
        self._fmus.update(self._used)
        self._used.clear()


class CleanComponents:
    """Components without findings, by their text and their FMU.

    This suffices, because rules over components with FMUs, and over the elements inside of them, only read this, the
    `context` (definitions around the system in the document, and names of existing files), and files that elements
    inside of the component refer to. Components with such elements are not kept.
    """

    def __init__(self, context: object) -> None:
        self.context = context
        self._known: set[tuple[bytes, FmuFile]] = set()
        self._used: set[tuple[bytes, FmuFile]] = set()

    def key(self, component: ssd.Component, structure: Structure) -> tuple[bytes, FmuFile] | None:
        """Facts by which a component is recognized; None if its rules read more than these."""
        if structure.fmu_of(component) is None:
            return None
        text: bytes = etree.tostring(component, with_tail=False)
        if text.count(_SOURCE) > 1 or _OUTSIDE in text:
            return None
        return text, structure.fmu_files[structure.reference(component, component.source or "").entry]

    def __contains__(self, key: tuple[bytes, FmuFile] | None) -> bool:
        if key is None or key not in self._known:
            return False
        self._used.add(key)
        return True

    def add(self, key: tuple[bytes, FmuFile]) -> None:
        self._known.add(key)
        self._used.add(key)

    def forget_unused(self) -> None:
        self._known, self._used = self._used, set()
