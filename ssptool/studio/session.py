"""A system that pages show and edit: its present documents, and the states for undo and redo.

A state contains the differences from the files on disk. A gesture creates a state, undo and redo select another one,
and saving writes the present state with the atomic save of the archive.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import gettempdir
from typing import Self, TypeAlias

from ssptool.api.check import switches_of
from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.documents.outside import out_of_reach
from ssptool.documents.saving import AtomicReplacement
from ssptool.editing.changes import FileEdit, unified_diff
from ssptool.editing.draft import empty_structure
from ssptool.editing.editor import Editor
from ssptool.errors import WrongUsage, is_own
from ssptool.option_words import Boxing, Sharing
from ssptool.rules.kept import Kept
from ssptool.rules.runner import open_checked
from ssptool.rules.selection import Switches
from ssptool.studio.gestures import Gesture
from ssptool.studio.renaming import free_name, names_around, save_copy
from ssptool.studio.stimuli import INPUTS, SCENARIOS, EditStimulus, checked_name
from ssptool.studio.unsaved import OtherFiles, UnsavedEdits, found_next_to, free_file
from ssptool.working_directory import real

Files = Mapping[str, bytes | None]
"""Entries that differ from those on disk; None: removed."""
AnyGesture: TypeAlias = Gesture | EditStimulus | UnsavedEdits


def _read_only(reason: str) -> WrongUsage:
    """Error: the system can be viewed, but not changed."""
    return WrongUsage(f"this system cannot be changed here: {reason}")


class Conflict(WrongUsage):
    """Another program has changed parts that unsaved edits are about."""

    def __init__(self, files: tuple[str, ...], problem: str) -> None:
        super().__init__(
            f"another program has changed {', '.join(files)}, and your unsaved edits do not fit any more ({problem}). "
            "Take the files on disk, save your edits under another name, or undo them"
        )
        self.files = files


@dataclass(frozen=True, slots=True)
class State:
    """Documents after a gesture. `diff` contains the changes of this gesture, `notes` describe them.

    `beside` are other files near the system, such as scenarios, by path relative to the folder that contains it.
    """

    files: Files = field(default_factory=dict)
    gesture: AnyGesture | None = None
    diff: str = ""
    notes: tuple[str, ...] = ()
    beside: Files = field(default_factory=dict)

    @property
    def label(self) -> str:
        return "" if self.gesture is None else self.gesture.label


@dataclass(frozen=True, slots=True)
class DiskNews:
    """Files that another program has changed, and the effect on the session."""

    files: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SystemCopy:
    """The present documents in a separate archive, which later edits do not change; close it after use."""

    archive: Archive
    structure: Document
    switches: Switches

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.archive.close()


class EditSession:
    """A system that is open while pages show it. `path` may be that of a system that does not exist yet."""

    def __init__(self, path: Path, *, variant: str | None = None, read_only: str = "", sandbox: Boxing = False) -> None:
        self.path = path
        self.sandbox = sandbox
        self.read_only = read_only
        self.variant = variant
        self.switches = switches_of(path)
        self.states = [State()]
        self.at = 0
        self._saved = 0
        self._is_new = not path.exists()
        self._beside: dict[str, bytes | None] = {}  # files around the system in their state on disk
        self._looked_at: dict[str, bytes | None] = {}  # the same files at the last check of the disk
        self.conflict: Conflict | None = None
        self.kept_in: Path | None = None  # the file to which `keep` has written
        self._kept_state: tuple[State, bool] | None = None  # what is in it, and whether that fitted to the disk
        self._unsaved_files = list(found_next_to(path))
        self.kept = Kept()
        self.archive = self._opened()
        if self.archive.is_generated:
            self.read_only = f"it is made of {path.name}; `ssptool convert` makes a system of it"

    def close(self) -> None:
        self.archive.close()

    @property
    def state(self) -> State:
        return self.states[self.at]

    @property
    def structure(self) -> Document:
        return self.archive.structure(self.variant)

    @property
    def unsaved(self) -> bool:
        """True if there are unsaved changes."""
        return self.at != self._saved or not self.path.exists()

    def diff(self) -> str:
        """All unsaved changes, as a unified diff."""
        return self._diff({}, self.state.files) + self._diff_beside({}, self.state.beside)

    def beside(self, name: str) -> bytes | None:
        """Present content of a file around the system, saved or not."""
        return self.state.beside[name] if name in self.state.beside else self._beside_on_disk(name)

    @contextmanager
    def editor(self) -> Iterator[Editor]:
        """An editor for queries about possible edits; it must not change anything."""
        with closing(Editor(self.archive, self.structure, Sharing.ALL)) as editor:
            yield editor

    def copy(self) -> SystemCopy:
        """Copy of the present documents, for a run that continues while they are edited."""
        archive = self._opened()
        _put(archive, self.state.files)
        return SystemCopy(archive, archive.structure(self.variant), self.switches)

    # -- changes ---------------------------------------------------------------------------------------------------

    def perform(self, gesture: AnyGesture) -> State:
        """Carry out a gesture completely or not at all. If it changes nothing, the state stays the same.

        Raises
        ------
        WrongUsage, EditError
            The gesture is not possible.
        Conflict
            Another program has changed the system; the conflict must be solved first.
        """
        self._require_editable()
        return self._perform(gesture)

    def _perform(self, gesture: AnyGesture) -> State:
        made = self._made_by(gesture)
        if (made.files, made.beside) == (self.state.files, self.state.beside):
            return replace(made, diff="")
        self.states[self.at + 1 :] = [made]
        if self._saved > self.at:
            self._saved = -1  # the state on disk is no longer among the states
        self.at += 1
        _put(self.archive, made.files)
        return made

    def preview(self, gesture: Gesture) -> State:
        """The state that would result from a gesture; nothing is changed."""
        self._require_editable()
        try:
            return self._made_by(gesture)
        finally:
            self._open()

    def undo(self) -> State:
        """Return to the state before the last gesture; returns the state that was undone."""
        left = self.state
        self._go_to(self.at - 1, "there is nothing to undo")
        return left

    def redo(self) -> State:
        """Redo the last undone gesture."""
        self._go_to(self.at + 1, "there is nothing to do again")
        return self.state

    def save(self) -> None:
        """Write the present state, all files or none.

        Raises
        ------
        WrongUsage, Conflict, ChangedMeanwhile
            Nothing was written.
        """
        self._require_writable()
        self.refresh()
        self._require_editable()
        if not self.unsaved:
            return
        files, beside = self.state.files, self.state.beside
        before = {name: self.archive.on_disk(name) for name in files}
        aside = {name: self._beside_on_disk(name) for name in beside}
        self.archive.require_links_inside()
        with AtomicReplacement() as replaced:
            for name, content in beside.items():
                if content is None:
                    replaced.delete(self._around / name)
                else:
                    replaced.write(self._around / name, content)
            self.archive.save()
        self._beside |= beside
        self._looked_at |= beside
        self.states = [
            replace(one, files=_since(one.files, before, files), beside=_since(one.beside, aside, beside))
            for one in self.states
        ]
        self._saved = self.at
        self._is_new = False
        self._forget_unsaved_files()
        self._open()

    def save_as(self, name: str) -> tuple[str, ...]:
        """Write the present state under a new name and continue with it there; the undo history is cleared.

        `name` is a path relative to the folder that contains the system. Returns the names of all written files; files
        around the system keep their names, except those that exist with other contents.

        Raises
        ------
        WrongUsage, FileExistsError
            Nothing was written.
        """
        self._require_writable()
        target = free_name(self.path, name, self.archive, self.state.files)
        beside = names_around(target, self._around, self.state.beside, self._beside)
        with AtomicReplacement() as written:
            for file, content in beside.items():
                written.write(file, content)
            save_copy(self.archive, target)
        self.path, self.switches, self._is_new = target, switches_of(target), False
        self._forget_unsaved_files()
        self.reload()
        return (target.name, *(file.name for file in beside))

    def save_copy(self, name: str) -> str:
        """Write the current state of the system under a new name, and continue with the original; returns the new name.

        Raises
        ------
        WrongUsage, FileExistsError
            Nothing was written.
        """
        self._require_writable()
        target = free_name(self.path, name, self.archive, self.state.files)
        save_copy(self.archive, target)
        self._open()
        return target.name

    # -- unsaved edits of an earlier session ------------------------------------------------------------------------

    def keep(self) -> Path | None:
        """Write the unsaved edits to a file next to the system, or to the folder for temporary files if that fails.

        The next session offers to open them. A session writes them into one file, again whenever they have changed, so
        that not even a sudden end loses them. None: there are none, and no file of this session. Raises OSError.
        """
        files, beside = self.state.files, self.state.beside
        if self.read_only or not (files or beside):
            self._forget_own_file()
            return None
        if self.kept_in is not None and self._kept_state == (self.state, self.conflict is None):
            return self.kept_in
        on_disk = {name: self.archive.on_disk(name) for name in files}
        around = {name: self._beside.get(name) for name in beside}
        opened = [one.source for one in self._opened_edits()]
        for place in (opened[0] if opened else self.kept_in, self._around, Path(gettempdir())):
            if place is not None:
                file = free_file(self.path, place) if place.is_dir() else place
                edits = UnsavedEdits.of(file, files, beside, on_disk, around, fits=self.conflict is None)
                with suppress(OSError):
                    edits.write()
                    if file != self.kept_in:
                        self._forget_own_file()
                    self.kept_in, self._kept_state = file, (self.state, self.conflict is None)
                    return file
        raise OSError(f"the unsaved edits could be written neither to {self._around} nor to {gettempdir()}")

    def _forget_own_file(self) -> None:
        """Delete the file in which this session has kept its edits, but none that was there before."""
        if self.kept_in is not None and self.kept_in not in self._unsaved_files:
            with suppress(OSError):
                self.kept_in.unlink()
        self.kept_in = None

    def unsaved_edits(self) -> Path | None:
        """The first file of unsaved edits that is not yet opened."""
        opened = {one.source for one in self._opened_edits()}
        return next((file for file in self._unsaved_files if file not in opened), None)

    def open_unsaved(self, file: str) -> State:
        """Restore the unsaved edits of another session; if the files have changed since then, this is a conflict.

        Raises
        ------
        WrongUsage, OSError
            This session already has edits, or the file cannot be read.
        """
        self._require_editable()
        if self.state.files or self.state.beside:
            raise WrongUsage("there are unsaved edits already: save or undo them first")
        edits = UnsavedEdits.read(self._unsaved_file(file))
        try:
            return self._perform(edits)
        except OtherFiles as changed:
            self.states[self.at + 1 :] = [State(edits.files, edits, "", (), edits.beside)]
            self._saved = min(self._saved, self.at)
            self._go_to(self.at + 1, "")
            self.conflict = Conflict(changed.names, str(changed))
            return self.state

    def discard_unsaved(self, file: str) -> None:
        """Delete a file of unsaved edits."""
        found = self._unsaved_file(file)
        found.unlink(missing_ok=True)
        self._unsaved_files.remove(found)

    def _unsaved_file(self, name: str) -> Path:
        found = next((one for one in self._unsaved_files if one.name == name), None)
        if found is None:
            raise WrongUsage(f"there is no file of unsaved edits {name!r}")
        return found

    def _opened_edits(self) -> list[UnsavedEdits]:
        done = [one.gesture for one in self.states[1 : self.at + 1]]
        return [one for one in done if isinstance(one, UnsavedEdits)]

    def _forget_unsaved_files(self) -> None:
        """Delete the files of edits that have now been saved."""
        self._forget_own_file()
        for one in self._opened_edits():
            with suppress(OSError):
                one.source.unlink()
            self._unsaved_files = [file for file in self._unsaved_files if file != one.source]

    # -- changes by other programs ---------------------------------------------------------------------------------

    def refresh(self) -> DiskNews | None:
        """Detect changes by other programs, and repeat the unsaved gestures on top of them.

        If that is impossible, `conflict` contains the reason, saving is blocked, and the session stays unchanged. The
        conflict ends when the gestures can be repeated again: after another change on disk, an undo or a redo.
        """
        beside = tuple(name for name, content in self._looked_at.items() if self._beside_on_disk(name) != content)
        changed = (*self.archive.changed_meanwhile(), *beside)
        if not changed:
            return None
        before = self.conflict
        self._settle(changed)
        if self.conflict is not None:
            known = before is not None and str(before) == str(self.conflict)
            return None if known else DiskNews(changed, str(self.conflict))
        merged = "; your unsaved edits are made again on top" if self.at else ""
        return DiskNews(changed, f"another program has changed {', '.join(changed)}{merged}")

    def reload(self) -> None:
        """Read the files from disk, and discard unsaved edits."""
        opened = self._opened()
        self.states, self.at, self._saved, self.conflict = [State()], 0, 0, None
        self._beside, self._looked_at = {}, {}
        self._use(opened, {})

    def _settle(self, changed: tuple[str, ...] = ()) -> None:
        """Repeat the unsaved gestures on the files on disk, or state the conflict."""
        before = () if self.conflict is None else self.conflict.files
        try:
            self._rebase()
        except Exception as problem:
            if not is_own(problem) and not isinstance(problem, OSError):
                raise
            self.conflict = Conflict(tuple(dict.fromkeys((*before, *changed))), str(problem))
            self._looked_at = {name: self._beside_on_disk(name) for name in self._beside}
        else:
            self.conflict = None
            self._looked_at = dict(self._beside)

    def _rebase(self) -> None:
        if not 0 <= self._saved <= self.at:
            raise WrongUsage("what was saved before is undone here")
        gestures = [one.gesture for one in self.states[self._saved + 1 : self.at + 1] if one.gesture is not None]
        kept = self.states, self.at, self._saved, self._beside
        self._use(self._opened(), {})
        try:
            self.states, self.at, self._saved, self._beside = [State()], 0, 0, {}
            for gesture in gestures:
                self._perform(gesture)
        except BaseException:
            self.states, self.at, self._saved, self._beside = kept
            self._open()
            raise

    # -- documents -------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Open the system again, with the files of the present state."""
        self._use(self._opened(), self.state.files)

    def _use(self, archive: Archive, files: Files) -> None:
        """Replace the archive by one with these entries, which are known to be readable."""
        self.archive.close()
        self.archive = archive
        _put(archive, files)

    def _opened(self) -> Archive:
        if self._is_new and not self.path.exists():
            return Archive.create(self.path, empty_structure(self.path.stem, "1.0", None, None))
        return open_checked(self.path, self.switches.outside, inside=True)

    def _made_by(self, gesture: AnyGesture) -> State:
        if isinstance(gesture, EditStimulus):
            return self._beside_by(gesture)
        if isinstance(gesture, UnsavedEdits):
            return self._again(gesture)
        self.kept.files.clear()  # the gesture changes the trees of documents
        try:
            with closing(Editor(self.archive, self.structure, gesture.sharing)) as editor:
                gesture.carry_out(editor)
                files = self.archive.edited_files()
                diff = self._diff(self.state.files, files)
                return State(files, gesture, diff, editor.notes, self.state.beside)
        except BaseException:
            self._open()  # without the changes that were made before the failure
            raise

    def _beside_by(self, gesture: EditStimulus) -> State:
        name = gesture.file
        if name not in self._beside:
            self._beside[name] = self._looked_at[name] = self._beside_on_disk(name)
        beside = {**self.state.beside, name: gesture.changed(self.beside(name))}
        return State(self.state.files, gesture, self._diff_beside(self.state.beside, beside), (), beside)

    def _again(self, edits: UnsavedEdits) -> State:
        for name in edits.beside:
            self._beside.setdefault(checked_name(name, (*SCENARIOS, *INPUTS)), self._beside_on_disk(name))
        self._looked_at |= {name: self._beside[name] for name in edits.beside}
        files, beside = {**self.state.files, **edits.files}, {**self.state.beside, **edits.beside}
        edits.require_same(
            {name: self.archive.on_disk(name) for name in edits.files},
            {name: self._beside[name] for name in edits.beside},
        )
        diff = self._diff(self.state.files, files) + self._diff_beside(self.state.beside, beside)
        return State(files, edits, diff, (), beside)

    @property
    def _around(self) -> Path:
        return self.path.absolute().parent

    def _beside_on_disk(self, name: str) -> bytes | None:
        file = self._around / name
        if out_of_reach(file, self._around, self.switches.outside):
            raise WrongUsage(f"{name} leads to {real(file)}, outside the folder: put a copy of the file in its place")
        return file.read_bytes() if file.is_file() else None

    def _diff(self, before: Files, after: Files) -> str:
        return _diff_of(before, after, self.archive.on_disk)

    def _diff_beside(self, before: Files, after: Files) -> str:
        return _diff_of(before, after, self._beside_on_disk)

    def _go_to(self, at: int, otherwise: str) -> None:
        self._require_writable()
        if not 0 <= at < len(self.states):
            raise WrongUsage(otherwise)
        before, self.at = self.at, at
        try:
            self._open()
        except BaseException:
            self.at = before
            raise
        if self.conflict is not None:
            self._settle()

    def _require_writable(self) -> None:
        if self.read_only:
            raise _read_only(self.read_only)

    def _require_editable(self) -> None:
        self._require_writable()
        if self.conflict is not None:
            raise self.conflict


def _diff_of(before: Files, after: Files, on_disk: Callable[[str], bytes | None]) -> str:
    """Differences of two states; unchanged entries have their content on disk."""
    names = sorted({*before, *after})
    sides = (
        FileEdit(name, *(one[name] if name in one else on_disk(name) for one in (before, after))) for name in names
    )
    return unified_diff(side for side in sides if side.before != side.after)


def _put(archive: Archive, files: Files) -> None:
    """Put entries into an archive, so that its documents are parsed again and have their new line numbers."""
    for name, content in files.items():
        if content is not None:
            archive.put(name, content)
        elif archive.has(name):
            archive.remove(name)


def _since(files: Files, before: Files, written: Files) -> dict[str, bytes | None]:
    """Differences from the files on disk after other files were written."""
    whole = {**before, **files}
    return {name: content for name, content in whole.items() if name not in written or written[name] != content}
