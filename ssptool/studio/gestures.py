"""Gestures of a page as values: verbs of the editor by name with their arguments, and fixes of findings."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Protocol

from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.documents.storage import NESTING_MARK
from ssptool.editing.editor import VERBS, Editor, no_such_verb
from ssptool.errors import WrongUsage, counted
from ssptool.option_words import Sharing
from ssptool.rules.runner import check_with_fixes
from ssptool.rules.selection import Switches
from ssptool.studio.findings import key_of


def _no_such_finding() -> WrongUsage:
    """The finding of a fix no longer exists."""
    return WrongUsage("this finding is there no longer, or has no fix")


class Gesture(Protocol):
    """One change of the system, which can be repeated on documents that changed in the meantime."""

    @property
    def label(self) -> str:
        """Short text for lists of gestures."""
        ...

    @property
    def sharing(self) -> Sharing: ...

    def carry_out(self, editor: Editor) -> None: ...


@dataclass(frozen=True, slots=True)
class VerbCall:
    """A verb of the editor with its arguments by name."""

    verb: str
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> "VerbCall":
        """Verb call from `{"verb": "connect", "a": ["A", "y"], "b": "B.u"}`. Raises WrongUsage."""
        given = dict(stated)
        verb = given.pop("verb", None)
        if verb not in VERBS:
            raise WrongUsage(no_such_verb(verb))
        parameters = inspect.signature(getattr(Editor, verb)).parameters
        if unknown := [name for name in given if name not in parameters or name == "self"]:
            raise WrongUsage(f"{verb} has no argument {unknown[0]!r}")
        return cls(verb, given)

    @property
    def label(self) -> str:
        return " ".join([self.verb.replace("_", " "), *_told(self.arguments)])

    def carry_out(self, editor: Editor) -> None:
        method = getattr(editor, self.verb)
        given = {name: _names(value) for name, value in self.arguments.items()}
        several = next(
            (
                one.name
                for one in inspect.signature(method).parameters.values()
                if one.kind is inspect.Parameter.VAR_POSITIONAL
            ),
            "",
        )
        method(*given.pop(several, ()), **given)


def _names(value: Any) -> Any:
    """Names: lists of parts become tuples, as the editor expects."""
    if isinstance(value, list):
        return tuple(map(_names, value))
    return value


def _told(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        if name == "points":
            yield f"over {counted(len(value), 'point')}"
        elif name == "fmus":
            yield ", ".join(PurePath(str(file)).name for file in value)
        elif isinstance(value, list):
            yield ".".join(map(str, value)) if all(isinstance(one, str) for one in value) else f"{len(value)} names"
        elif isinstance(value, bool) or value is None:
            yield name.replace("_", " ") if value else ""
        else:
            yield str(value)


@dataclass(frozen=True, slots=True)
class Edits:
    """Verbs in order; either all are done, or none."""

    calls: tuple[VerbCall, ...]
    sharing: Sharing = Sharing.REFUSE

    @classmethod
    def of(cls, stated: Sequence[Mapping[str, Any]], sharing: Sharing = Sharing.REFUSE) -> "Edits":
        """Edits from a page. Raises WrongUsage."""
        if not stated:
            raise WrongUsage("a gesture has at least one edit")
        return cls(tuple(map(VerbCall.of, stated)), sharing)

    @property
    def label(self) -> str:
        more = f" and {len(self.calls) - 1} more" if len(self.calls) > 1 else ""
        return f"{self.calls[0].label}{more}"

    def carry_out(self, editor: Editor) -> None:
        for call in self.calls:
            call.carry_out(editor)


@dataclass(frozen=True, slots=True)
class FixFinding:
    """The fix of a finding, which is identified by its key; `title` selects one of several guesses."""

    key: str
    title: str
    switches: Switches
    sharing: Sharing = Sharing.REFUSE

    @property
    def label(self) -> str:
        return f"fix {self.key.partition(' ')[0]}"

    def carry_out(self, editor: Editor) -> None:
        checked = check_with_fixes(editor.archive, switches=self.switches)
        fix = next((fix for finding, fix in checked.fixes.items() if key_of(finding) == self.key), None)
        chosen = None if fix is None else next((one for one in fix.options if one.title == self.title), None)
        if chosen is None:
            raise _no_such_finding()
        chosen.apply()
        editor.note(chosen.title)


@dataclass(frozen=True, slots=True)
class RewriteXml:
    """Replacement of the text of an element in a file; the file stays well-formed."""

    file: str
    before: str
    after: str
    sharing: Sharing = Sharing.REFUSE

    @property
    def label(self) -> str:
        return f"edit the XML of {self.file}"

    def carry_out(self, editor: Editor) -> None:
        self.put(editor.archive)
        editor.note(f"edited the XML of {self.file}")

    def put(self, archive: Archive) -> None:
        """Write the changed file to an archive. Raises WrongUsage; InvalidDocument if it is not well-formed."""
        old, content = self.before.encode(), archive.content(self.file)
        if not archive.has(self.file) or NESTING_MARK in self.file:
            raise WrongUsage(f"{self.file} is inside a package: open that package to edit its XML")
        if content.count(old) != 1:
            raise WrongUsage(f"the text to replace is there {counted(content.count(old), 'time')} in {self.file}")
        new = content.replace(old, self.after.encode())
        Document(self.file, new)  # to raise InvalidDocument
        archive.put(self.file, new)
