"""The FMUs of components, as rules read them; each file is opened once."""

from collections.abc import Mapping, Set
from functools import cached_property
from pathlib import Path
from zipfile import BadZipFile

from ssptool.documents.foreign_files import OddEntry
from ssptool.errors import UnusableFile
from ssptool.fmu.description import FmuDescription, Interface, InterfaceType, UnreadableFmu
from ssptool.fmu.model_description_xml import (
    fmu_entries,
    library_entry,
    misnamed_library,
    platforms,
    zip_contents,
)
from ssptool.fmu.read_description import description_problems, read_and_check
from ssptool.fmu.safe_reading import DescriptionProblem
from ssptool.fmu.terminals import Terminal, read_terminals


class FmuFile:
    """An FMU (a zip, or an unpacked folder); each fact is read when a rule first needs it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def description(self) -> FmuDescription | UnreadableFmu:
        try:
            return read_and_check(self.path)
        except UnreadableFmu as problem:
            return problem

    @cached_property
    def problems(self) -> tuple[DescriptionProblem, ...]:
        """Problems of a model description that can be read."""
        try:
            return description_problems(self.path)
        except UnreadableFmu:
            return ()  # FMU-001

    @cached_property
    def terminals(self) -> Mapping[str, Terminal] | UnusableFile:
        try:
            return read_terminals(self.path)
        except UnusableFile as problem:
            return problem

    @cached_property
    def platforms(self) -> Mapping[InterfaceType, frozenset[str]]:
        """Platforms for which an interface has a binary."""
        return {kind: platforms(self.path, interface) for kind, interface in self._interfaces.items()}

    @cached_property
    def misnamed(self) -> Mapping[InterfaceType, tuple[str, str]]:
        """Interfaces whose library for this machine has a wrong name: the correct entry, and the present one."""
        found = {}
        for kind, interface in self._interfaces.items():
            assert isinstance(self.description, FmuDescription)
            entry = library_entry(self.description.fmi_major, interface.model_identifier, self._entries)
            wanted = Path(entry).as_posix()
            there = misnamed_library(self._entries, wanted)
            if there is not None:
                found[kind] = wanted, there
        return found

    @cached_property
    def _interfaces(self) -> Mapping[InterfaceType, Interface]:
        if isinstance(self.description, UnreadableFmu):
            return {}
        offered = {kind: self.description.interface(kind) for kind in InterfaceType}
        return {kind: interface for kind, interface in offered.items() if interface is not None}

    @cached_property
    def odd(self) -> tuple[OddEntry, ...]:
        """Entries of its zip with names that are not plain, and repeated entries."""
        try:
            return () if self.path.is_dir() else zip_contents(self.path).odd
        except (OSError, BadZipFile, NotImplementedError, ValueError):
            return ()  # FMU-001

    @cached_property
    def _entries(self) -> Set[str]:
        try:
            return fmu_entries(self.path)
        except (OSError, BadZipFile, NotImplementedError, ValueError):
            return frozenset()  # FMU-001


class UnreachableFmu(FmuFile):
    """An FMU that cannot be unpacked from the archive, or lies outside of it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path)
        self.description = UnreadableFmu(path, reason)
