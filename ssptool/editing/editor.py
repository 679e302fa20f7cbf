"""The verbs of editing, on one system structure of an archive."""

from pathlib import Path
from typing import Self

from ssptool.documents import ssd
from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.editing.adding import add_connector, add_fmu, add_system
from ssptool.editing.binding import add_mapping, bind
from ssptool.editing.changes import FileEdit, unified_diff
from ssptool.editing.connecting import connect, disconnect
from ssptool.editing.draft import Draft
from ssptool.editing.errors import EditError
from ssptool.editing.names import Name
from ssptool.editing.removing import remove
from ssptool.editing.renaming import rename
from ssptool.editing.replacing import Consequence, consequences, replace
from ssptool.editing.setting import set_value


class Editor:
    """Edits a system structure in memory; each verb gives the editor back, so that verbs can be chained.

    Names are full names such as `Plant.System1.x1`, or their parts as a tuple. `notes` says what was done;
    `archive`, `document` and `system` are there for edits that no verb makes.

    Every verb raises EditError if it cannot be done, which names the object and what to try.
    """

    def __init__(self, archive: Archive, document: Document) -> None:
        self._draft = Draft(archive, document)

    def __repr__(self) -> str:
        return f"<Editor of {self.document.name} in {self.archive.path}>"

    @property
    def archive(self) -> Archive:
        return self._draft.archive

    @property
    def document(self) -> Document:
        return self._draft.document

    @property
    def system(self) -> ssd.System:
        return self._draft.system

    @property
    def notes(self) -> tuple[str, ...]:
        """What the verbs did, in words."""
        return tuple(self._draft.notes)

    def note(self, text: str) -> None:
        """Say what was done by other means than the verbs."""
        self._draft.note(text)

    def diff(self) -> str:
        """What `save` would change, as a unified diff of every document concerned."""
        archive = self.archive
        return unified_diff(
            FileEdit(
                edit.name,
                archive.before(edit.name) if edit.existed else None,
                archive.content(edit.name) if edit.exists else None,
            )
            for edit in archive.edits()
        )

    def add(self, *fmus: Path | str, name: str | None = None, into: Name = "", parameters: bool = False) -> Self:
        """Make components of FMUs: copied into `resources`, with connectors as their model descriptions say.

        Parameters
        ----------
        name
            Of the component, if it is one; else the file's name without `.fmu`.
        into
            The system that gets it; else the root system.
        parameters
            Make connectors for parameters as well as for inputs and outputs.
        """
        if name is not None and len(fmus) > 1:
            raise EditError(f"{len(fmus)} FMUs cannot all be called {name!r}: add one at a time, or give no name")
        for fmu in fmus:
            add_fmu(self._draft, fmu, name, into, parameters)
        return self

    def add_system(self, name: str, into: Name = "") -> Self:
        """Make an empty system inside another."""
        add_system(self._draft, name, into)
        return self

    def add_connector(
        self, name: str, kind: str, of: Name = "", type: str | None = None, unit: str | None = None
    ) -> Self:
        """Give a system a connector of a kind such as `input` or `output`; without a type that of its partners."""
        add_connector(self._draft, name, kind, of, type, unit)
        return self

    def connect(self, a: Name, b: Name) -> Self:
        """Connect two connectors; two terminals, member by member; or two elements, by names and types."""
        connect(self._draft, a, b)
        return self

    def disconnect(self, a: Name, b: Name) -> Self:
        """Remove what connects two connectors, terminals or elements."""
        disconnect(self._draft, a, b)
        return self

    def remove(self, *names: Name, with_resource: bool = False) -> Self:
        """Remove elements or connectors, and the connections that touch them.

        `with_resource` takes a component's file out of the archive as well, if nothing else refers to it.
        """
        for name in names:
            remove(self._draft, name, with_resource)
        return self

    def rename(self, old: Name, new: str) -> Self:
        """Give an element or a connector another name; connections, parameters and mappings follow."""
        rename(self._draft, old, new)
        return self

    def set(self, name: Name, value: object, unit: str | None = None, into: str | None = None) -> Self:
        """Set a parameter or start value where its value in force comes from, or in a set where it will be in force.

        Parameters
        ----------
        value
            In `unit`, or else in the unit of the variable; of an enumeration the name of an item.
        into
            A parameter set, `NAME.ssv`, made in `resources` and bound to the root system if it is not there.
        """
        set_value(self._draft, name, value, unit, into)
        return self

    def bind(
        self,
        file: Path | str,
        to: Name = "",
        prefix: str = "",
        mapping: Path | str | None = None,
        inline: bool = False,
    ) -> Self:
        """Bind a parameter set (`.ssv`) to an element, else to the root system; its values win over earlier ones."""
        bind(self._draft, file, to, prefix, mapping, inline)
        return self

    def map(
        self,
        source: str,
        target: str,
        to: Name = "",
        of: str | None = None,
        factor: float | None = None,
        offset: float | None = None,
    ) -> Self:
        """Let the parameter `source` of a binding of `to` set `target`, as `factor · value + offset` if stated.

        `of` is the parameter set that is meant, if the element has several.
        """
        add_mapping(self._draft, source, target, to, of, factor, offset)
        return self

    def replace(self, component: Name, fmu: Path | str, force: bool = False) -> Self:
        """Let a component be another FMU; raises BreakingReplacement if something uses what that does not have."""
        replace(self._draft, component, fmu, force)
        return self

    def consequences(self, component: Name, fmu: Path | str) -> tuple[Consequence, ...]:
        """What `replace` would break and change; nothing is changed."""
        return consequences(self._draft, component, fmu)
