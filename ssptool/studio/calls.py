"""Calls of a page, by name with arguments, and their answers. The page itself has no model."""

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import permutations, product
from pathlib import Path
from threading import RLock
from typing import Any, get_origin

from ssptool.documents import ssd
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import garbage_collection_paused
from ssptool.drawing.diagram.model import Span
from ssptool.drawing.diagram.svg import sheet_svg
from ssptool.editing.add import SUFFIXES
from ssptool.editing.changes import EditError
from ssptool.editing.draft import RESOURCES, Draft
from ssptool.errors import UnusableFile, WrongUsage, similar_names
from ssptool.foreign_text import one_line
from ssptool.network.inventory import VariableEntry, list_variables
from ssptool.network.tree import ElementPath, dotted
from ssptool.option_words import Sharing
from ssptool.rules.kept import Kept
from ssptool.studies.first_draft import ChosenStudy
from ssptool.studio.clipboard import CopiedElements
from ssptool.studio.findings import DrawnPlaces, finding_content, findings_of
from ssptool.studio.gestures import Edits, FixFinding, Gesture, RewriteXml
from ssptool.studio.model import SystemModel
from ssptool.studio.placing import additions, alignments, arrangement, held_places, moves, resizes, routes
from ssptool.studio.recent import recent_fmus, remember_folders
from ssptool.studio.run_settings import names_for, settings_content, settings_of
from ssptool.studio.runs import StudioRuns, plan_content, planning_of
from ssptool.studio.session import DiskNews, EditSession, State
from ssptool.studio.stimuli import (
    INPUTS,
    SCENARIOS,
    ChosenStimuli,
    EditStimulus,
    checked_name,
    content_of,
    is_input,
    is_scenario,
    listed,
    results_of,
)
from ssptool.studio.studies import StudyRuns
from ssptool.studio.system_parts import system_content
from ssptool.studio.unsaved import UnsavedEdits
from ssptool.studio.values import parameter_rows

Answer = Any
Names = Sequence[str]


_KINDS: Mapping[Any, str] = {str: "a text", bool: "true or false", int: "a whole number"}


def _check_type(argument: str, value: Any, kind: Any) -> None:
    """Reject a value whose type differs from that of the argument. Raises WrongUsage."""
    if kind in _KINDS and type(value) is not kind:
        raise WrongUsage(f"{argument} is {value!r}, and not {_KINDS[kind]}")
    if get_origin(kind) is Mapping and not isinstance(value, Mapping):
        raise WrongUsage(f"{argument} is {value!r}, and not a table")


MOST_INSERTIONS = 20
"""Ways to put an element into a connection that a page offers."""


CALLS = (
    *("model", "findings", "sheet", "connections", "about", "connection", "system", "find", "connectors"),
    *("targets", "suggestions", "parameters", "move", "resize", "align", "arrange", "route", "consequences"),
    *("plan", "run", "check", "cancel", "runs", "plot", "signals", "values", "differences", "open_results"),
    *("iterations", "iterates", "setting_names", "rename_run", "delete_run", "save_run", "insertions"),
    *("studies", "start_study", "cancel_study", "study_table", "study_chart", "proposed_study", "new_study"),
    *("add", "copy", "paste"),
    *("palette", "picture", "stimuli", "edit", "preview", "fix", "rewrite", "typed", "stimulus", "undo"),
    *("redo", "save", "save_as", "save_copy", "reload", "open_unsaved", "discard_unsaved", "changes"),
)
"""Methods of `PageCalls` that a page can call."""


class PageCalls:
    """The calls on one session. `tell` sends an event to all pages; calls come from several threads, and are done one
    at a time.
    """

    def __init__(self, session: EditSession, tell: Callable[[dict[str, Any]], None]) -> None:
        self._session = session
        self._tell = tell
        self._lock = RLock()
        self._model = SystemModel(session.archive, session.structure)
        self._runs = StudioRuns(tell, sandbox=session.sandbox)
        self._studies = StudyRuns(session, tell)
        self._copied = CopiedElements()
        self._version = 0
        self._kept_typed = Kept()  # separate from that of the session, which has other documents
        self._methods = {name: getattr(self, name) for name in CALLS}

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Do a call. Raises WrongUsage, and all errors of the call."""
        method = self._methods.get(name)
        if method is None:
            near = similar_names(name, list(self._methods))
            raise WrongUsage(f"there is no call {name!r}{f'; did you mean {near[0]}?' if near else ''}")
        try:
            given = inspect.signature(method).bind(**arguments)
        except TypeError as problem:
            raise WrongUsage(f"{name}: {problem}") from None
        for argument, value in given.arguments.items():
            _check_type(f"{name}: {argument}", value, given.signature.parameters[argument].annotation)
        with self._lock, garbage_collection_paused():  # which would examine all trees again and again
            return method(**arguments)

    def prepare(self) -> None:
        """Compute the data that a page requests first, while the browser starts; and list the folders of the system."""
        remember_folders(self._session.path)
        with suppress(Exception):  # the page gets the error when it requests the data
            self.call("sheet", {"path": [], "afar": True})

    def keep(self) -> None:
        """Keep unsaved edits in a file: while the server lives, and before its end. Raises OSError."""
        with self._lock:
            self._session.keep()

    def close(self) -> None:
        """End the present run and study, and close the system."""
        self._runs.close()
        self._studies.close()
        self._copied.close()
        self._session.close()

    # -- viewing ---------------------------------------------------------------------------------------------------

    def model(self) -> Answer:
        """The systems, and the available undo and redo steps."""
        session, states = self._session, self._session.states
        return {
            "version": self._version,
            "name": session.structure.structure.name,
            "file": session.path.name,
            "path": str(session.path.absolute()),
            "copies": str(self._copied.folder),
            "readOnly": session.read_only,
            "unsaved": session.unsaved and not session.read_only,
            "undo": session.state.label if session.at else "",
            "redo": states[session.at + 1].label if session.at + 1 < len(states) else "",
            "conflict": "" if session.conflict is None else str(session.conflict),
            "kept": self._kept(),
            "systems": self._model.systems(),
        }

    def _kept(self) -> Answer:
        """Unsaved edits of earlier sessions, which can be opened or discarded."""
        if (file := self._session.unsaved_edits()) is None:
            return None
        try:
            edits = UnsavedEdits.read(file)
        except (UnusableFile, OSError) as problem:
            reason = problem.reason if isinstance(problem, UnusableFile) else str(problem)
            return {"file": file.name, "time": "", "names": [], "problem": reason}
        return {"file": file.name, "time": edits.time, "names": edits.names, "problem": ""}

    def findings(self) -> Answer:
        """Findings in the present documents, and the connections that close algebraic loops."""
        session, model = self._session, self._model
        return {
            "version": self._version,
            "findings": findings_of(
                session.archive, session.structure.name, session.switches, session.kept, model.places
            ),
            "loops": model.loops(),
        }

    def sheet(self, path: Names, afar: bool = False) -> Answer:
        """The picture of a system; with `afar`, without details that are too small in a crowded one."""
        return self._model.sheet(tuple(path), afar=afar)

    def connections(self, path: Names) -> Answer:
        """The connections of a sheet; slower than its picture, because the system is flattened for them."""
        return self._model.connections(tuple(path))

    def about(self, element: Names) -> Answer:
        """An element: facts, values of its variables, and its text in the file."""
        path = tuple(element)
        block = self._model.block(path)
        values = self._model.values.get(one_line(dotted(path)), {})
        return {
            "title": dotted(path),
            "facts": [text for text in (block.source, block.described) if text],
            "pins": [pin.described for pin in block.pins],
            "values": [{"name": name, "text": text} for name, text in values.items()],
            **({} if block.group else self._text(block.span)),
        }

    def system(self, sheet: Names) -> Answer:
        """A system: facts, times of its experiment, and the parts of its document that the diagram does not show."""
        return system_content(self._model, tuple(sheet))

    def connection(self, sheet: Names, text: str) -> Answer:
        """A connection, given by its text in a sheet: the values at its ends, and its text in the file."""
        for line in self._model.stated[tuple(sheet)].lines if tuple(sheet) in self._model.stated else ():
            if text in map(one_line, line.described):
                place = [*map(one_line, line.described)].index(text)
                names = self._model.ends(tuple(sheet), text)
                values = (
                    self._model.values.get(one_line(dotted(end[:-1])), {}).get(one_line(end[-1])) for end in names
                )
                span = line.spans[place]
                return {
                    "title": text,
                    "values": [{"name": "", "text": value} for value in values if value],
                    **self._text(span),
                }
        raise WrongUsage(f"there is no connection {text!r} any more")

    def _text(self, span: Span) -> Answer:
        """File, line and XML of an element or connection."""
        xml = self._model.xml(span.file, span.first) if span.file else None
        return {
            "where": str(span),
            "file": span.file,
            "line": span.first,
            "xml": "" if xml is None else xml.shown,
        }

    def find(self, words: str) -> Answer:
        return self._model.find(words)

    def changes(self) -> Answer:
        """All unsaved changes as a diff, and the gestures that can be undone."""
        states = self._session.states
        return {
            "diff": self._session.diff(),
            "gestures": [
                {"label": one.label, "diff": one.diff, "done": number <= self._session.at}
                for number, one in enumerate(states[1:], 1)
            ],
        }

    # -- before editing --------------------------------------------------------------------------------------------

    def connectors(self, sheet: Names) -> Answer:
        """The connectors that can be named in a sheet."""
        return self._model.all_connectors(tuple(sheet))

    def targets(self, owner: Names, names: Names) -> Answer:
        """Connectors to which connectors of an element can be connected."""
        with self._session.editor() as editor:
            return [
                {"from": name, "owner": target.path[:-1], "name": target.path[-1], "units": target.units}
                for name in self._model.connectors(tuple(owner), names)
                for target in editor.targets((*owner, name))
            ]

    def suggestions(self, system: Names) -> Answer:
        """Connectors of a system without a source, and possible sources; for a group only those of its elements."""
        path, model = tuple(system), self._model
        around = model.system_of(path)
        inside = {block.path for block in model.stated[path].blocks} if path != around else None
        with self._session.editor() as editor:
            return [
                {
                    "destination": one.destination,
                    "sources": [{"path": each.path, "units": each.units} for each in one.sources],
                }
                for one in editor.suggestions(around)
                if inside is None or tuple(one.destination[:-1]) in inside
            ]

    def parameters(self) -> Answer:
        """Parameters and other values that can be set, of all components."""
        return list(parameter_rows(self._model))

    def insertions(self, sheet: Names, element: Names, text: str) -> Answer:
        """The ways to put an element into a connection: the edits for each legal pair of an input and an output."""
        path, ends = tuple(element), self._model.ends(tuple(sheet), text)
        pins = [] if any(path == end[:-1] for end in ends) else self._model.block(path).pins
        found = []
        for first, last in permutations(ends, 2):
            cut = {"verb": "disconnect", "a": first, "b": last}
            to, back = (
                [one for one in joins if self._is_possible(cut, one)]
                for joins in (
                    [{"verb": "connect", "a": first, "b": (*path, pin.name)} for pin in pins if pin.kind == "input"],
                    [{"verb": "connect", "a": (*path, pin.name), "b": last} for pin in pins if pin.kind == "output"],
                )
            )
            found += [
                {"title": f"{one['b'][-1]} → {other['a'][-1]}", "edits": (cut, one, other)}
                for one, other in product(to, back)
            ]
        self._renew()  # previews read the documents again
        return found[:MOST_INSERTIONS]

    def _is_possible(self, *edits: Mapping[str, Any]) -> bool:
        try:
            self._session.preview(Edits.of(edits))
        except (WrongUsage, EditError):
            return False
        return True

    def consequences(self, component: Names, fmu: str) -> Answer:
        """Consequences of replacing the FMU of a component."""
        with self._session.editor() as editor:
            return [
                {"weight": str(one.weight), "text": f"{one.name}: {one.message}"}
                for one in editor.consequences(tuple(component), fmu)
            ]

    # -- editing ---------------------------------------------------------------------------------------------------

    def edit(self, edits: Sequence[Mapping[str, Any]], shared: str = Sharing.REFUSE.value, sheet: Names = ()) -> Answer:
        """Verbs of the editor in order, all or none: `{"verb": "connect", "a": ["A", "y"], "b": ["B", "u"]}`.

        New elements appear in the `sheet` that the page shows, even if it is that of a group.
        """
        return self._perform(Edits.of(edits, Sharing(shared)), joined=tuple(sheet))

    def add(self, files: Names, sheet: Names = (), at: Sequence[float] | None = None) -> Answer:
        """Add files, or entries of the system, to the system of a sheet, at a point of it [mm, upwards]."""
        archive, path = self._session.archive, tuple(sheet)
        found = [str(archive.local_path(one)) if archive.has(one) and Path(one).is_file() else one for one in files]
        return self._perform(Edits.of(additions(self._model, path, found, at)), joined=path)

    def copy(self, elements: Sequence[Names], name: str) -> Answer:
        """Write elements as a system of their own, which other studios can paste."""
        with self._session.editor() as editor:
            self._copied.write(editor, [tuple(one) for one in elements], name)
        return {}

    def paste(self, file: str, sheet: Names) -> Answer:
        """Paste elements that another studio has written into the system of a sheet."""
        path = tuple(sheet)
        verb = {"verb": "paste", "source": str(self._copied.own(file)), "into": self._model.system_of(path)}
        return self._perform(Edits.of([verb]), joined=path)

    def palette(self) -> Answer:
        """The files of the system that can become elements, with the number of their elements; after them the FMUs of
        folders that were used recently.
        """
        archive, document = self._session.archive, self._session.structure
        draft = Draft(archive, document)
        used = Counter(draft.entry(one.source) for one in document.structure.every(ssd.Component) if one.source)
        names = (name for name in archive.names() if name.startswith(f"{RESOURCES}/"))
        own = [
            {"file": name, "name": name.removeprefix(f"{RESOURCES}/"), "used": used[name], "folder": ""}
            for name in sorted(names)
            if name.lower().endswith((".fmu", ".csv", *SUFFIXES))
        ]
        return own + [
            {"file": str(file), "name": file.name, "used": 0, "folder": str(file.parent)}
            for file in recent_fmus(self._session.path)
        ]

    def picture(self, sheet: Names) -> Answer:
        """The picture of a system as a file of its own, as `ssptool draw` makes it."""
        return {"svg": sheet_svg(self._model.arranged(tuple(sheet)), {})}

    def move(self, sheet: Names, elements: Sequence[Names], dx: float, dy: float) -> Answer:
        """Move elements of a sheet [mm, upwards]."""
        return self._place(tuple(sheet), moves(self._model, tuple(sheet), [*map(tuple, elements)], dx, dy))

    def resize(self, sheet: Names, element: Names, edges: Mapping[str, float]) -> Answer:
        """Move edges of an element [mm, upwards]: `{"x2": 10, "y1": -5}`."""
        return self._place(tuple(sheet), resizes(self._model, tuple(sheet), tuple(element), edges))

    def align(self, sheet: Names, elements: Sequence[Names], to: str) -> Answer:
        """Align or distribute elements of a sheet."""
        return self._place(tuple(sheet), alignments(self._model, tuple(sheet), [*map(tuple, elements)], to))

    def arrange(self, sheet: Names) -> Answer:
        """Place all elements of a system as its automatic layout does."""
        return self._place(tuple(sheet), arrangement(self._model, tuple(sheet)))

    def _place(self, sheet: ElementPath, edits: Sequence[Mapping[str, Any]]) -> Answer:
        held = held_places(self._model, sheet)
        answer = self._perform(Edits.of(edits))
        self._model.held |= held
        return answer

    def route(self, sheet: Names, text: str, way: Sequence[Sequence[float]]) -> Answer:
        """Change the line of a connection to another path, given in picture coordinates from its start to its end."""
        path = tuple(sheet)
        ends = self._model.connections(path).get(text, {"ends": ((), ())})["ends"]
        return self._perform(Edits.of(routes(self._model, path, text, ends, way)))

    def preview(self, edits: Sequence[Mapping[str, Any]]) -> Answer:
        """Preview of edits; nothing is changed."""
        try:
            return _told(self._session.preview(Edits.of(edits)))
        finally:
            self._renew()

    def fix(self, key: str, title: str) -> Answer:
        """Apply the fix of a finding; a finding may have several guesses, which differ in their titles."""
        return self._perform(FixFinding(key, title, self._session.switches))

    def rewrite(self, file: str, line: int, before: str, after: str) -> Answer:
        """Replace the XML of the element at a line; `before` is the text that the page has shown."""
        return self._perform(self._rewriting(file, line, before, after))

    def typed(self, file: str, line: int, before: str, after: str) -> Answer:
        """Findings that would result from another XML of an element; nothing is changed.

        `broken` says why the text cannot be read.
        """
        gesture, places = self._rewriting(file, line, before, after), DrawnPlaces(())
        with self._session.copy() as copy:
            try:
                gesture.put(copy.archive)
            except InvalidDocument as wrong:
                return {"broken": [finding_content(one, places, {}) for one in wrong.diagnostics], "findings": []}
            name, switches = self._session.structure.name, self._session.switches
            return {"broken": [], "findings": findings_of(copy.archive, name, switches, self._kept_typed, places)}

    def _rewriting(self, file: str, line: int, before: str, after: str) -> RewriteXml:
        xml = self._model.xml(file, line)
        if xml is None or xml.shown != before:
            raise WrongUsage(f"{file}:{line} has changed in the meantime; check it again")
        return RewriteXml(file, xml.raw, xml.indented(after))

    def undo(self) -> Answer:
        return self._changed(self._session.undo())

    def redo(self) -> Answer:
        return self._changed(self._session.redo())

    def save(self) -> Answer:
        self.look_at_disk()  # tells the pages of a conflict
        self._session.save()
        self._renew()
        self._tell({"event": "model", **self.model()})  # the version is the same, because the system is unchanged
        return {"saved": str(self._session.path)}

    def save_as(self, name: str) -> Answer:
        """Save the system under a new name, next to the files of another program, and continue with it there."""
        names = self._session.save_as(name)
        self._renewed()
        return {"saved": list(names)}

    def save_copy(self, name: str) -> Answer:
        """Save a copy of the system as it is here under a new name; the page stays with this one."""
        return {"saved": self._session.save_copy(name)}

    def reload(self) -> Answer:
        self._session.reload()
        self._renewed()
        return {}

    def open_unsaved(self, file: str) -> Answer:
        """Restore the unsaved edits of an earlier session."""
        return self._changed(self._session.open_unsaved(file))

    def discard_unsaved(self, file: str) -> Answer:
        """Delete the unsaved edits of an earlier session."""
        self._session.discard_unsaved(file)
        self._tell({"event": "model", **self.model()})
        return {}

    # -- runs ------------------------------------------------------------------------------------------------------

    def plan(self, settings: Mapping[str, Any], scenario: str = "", inputs: str = "") -> Answer:
        """Choices of a run with their reasons, and its calls; no FMU is loaded."""
        with self._session.copy() as copy:
            planning = planning_of(copy, ChosenStimuli(self._session.beside, scenario, inputs))
            return plan_content(planning(settings_of(settings)))

    def run(
        self, settings: Mapping[str, Any], scenario: str = "", inputs: str = "", iterations: bool = False
    ) -> Answer:
        """Start a run of the present documents, scenario and inputs, saved or not."""
        stimuli = ChosenStimuli(self._session.beside, scenario, inputs)
        return self._runs.start(self._session, settings, stimuli, iterations=iterations)

    # -- studies ---------------------------------------------------------------------------------------------------

    def studies(self) -> Answer:
        """Studies of this system around it, with their progress."""
        return self._studies.all()

    def start_study(self, file: str) -> Answer:
        """Start or continue a study of the system on disk."""
        return self._studies.start(file, unsaved=self._session.unsaved)

    def proposed_study(self, names: Names) -> Answer:
        """The choices for a new study in which these variables differ between runs."""
        return self._studies.proposal(self._variables(), names)

    def new_study(self, file: str, factors: Mapping[str, str], result: str, design: str, stop_time: str = "") -> Answer:
        """Write a study file next to the system: the typed values of its factors, and the expression of its result."""
        self._studies.new(file, design, stop_time, ChosenStudy(factors, result), self._variables())
        return {"file": file}

    def _variables(self) -> Sequence[VariableEntry]:
        """All variables of components, if the system can be flattened. Raises WrongUsage."""
        network = self._model.network
        if network is None:
            raise WrongUsage("the system has errors; see its findings")
        return list_variables(network, network.components)

    def cancel_study(self) -> Answer:
        self._studies.cancel()
        return {}

    def study_table(self, file: str) -> Answer:
        return self._studies.table(file)

    def study_chart(self, file: str) -> Answer:
        return self._studies.chart(file)

    # -- inputs and scenarios --------------------------------------------------------------------------------------

    def stimuli(self, scenario: str = "", inputs: str = "") -> Answer:
        """Scenarios and input files around the system, the content of the chosen ones, and the variables that they can
        drive.
        """
        session, network = self._session, self._model.network
        unsaved = [name for name, content in session.state.beside.items() if content is not None]
        files = {
            "scenarios": [name for name, file in listed(session.path, SCENARIOS) if is_scenario(file)],
            "inputs": [name for name, file in listed(session.path, INPUTS) if is_input(file)],
        }
        files["scenarios"] += [name for name in unsaved if name not in files["scenarios"] and name.endswith(SCENARIOS)]
        files["inputs"] += [name for name in unsaved if name not in files["inputs"] and name.endswith(INPUTS)]
        chosen = ChosenStimuli(
            session.beside,
            scenario if scenario in files["scenarios"] else "",
            inputs if inputs in files["inputs"] else "",
        )
        return {**files, **content_of(chosen, network, session.structure), "editable": not session.read_only}

    def stimulus(self, file: str, change: str, arguments: Mapping[str, Any], before: str = "") -> Answer:
        """Change a scenario or an input file; `before` is its text that the page has shown."""
        name = checked_name(file, (*SCENARIOS, *INPUTS))
        state = self._session.perform(EditStimulus(name, change, arguments, before))
        self._tell({"event": "model", **self.model()})  # the version is the same, because the system is unchanged
        return _told(state)

    def cancel(self, run: int | None = None) -> Answer:
        """End a run or its check; without a number, all of them."""
        self._runs.cancel(run)
        return {}

    def check(self, run: int) -> Answer:
        """Start the accuracy check of a run."""
        return self._runs.check(run)

    def runs(self) -> Answer:
        """All runs, the settings of a run, and the result files around the system."""
        return {
            "runs": self._runs.all(),
            "settings": settings_content(),
            "files": list(results_of(self._session.path)),
        }

    def setting_names(self, setting: str) -> Answer:
        """The names for which a setting can have values."""
        return names_for(setting, self._model.network)

    def rename_run(self, run: int, name: str) -> Answer:
        return self._runs.rename(run, name)

    def delete_run(self, run: int) -> Answer:
        self._runs.delete(run)
        return {}

    def save_run(self, run: int, name: str) -> Answer:
        """Write a run to a new file next to the system: results, or a report (.html)."""
        path = self._session.path
        if Path(name).name != name or not Path(name).suffix:
            raise WrongUsage(f"{name!r} is not the name of a file, such as run.csv or run.html")
        if self._session.read_only:
            raise WrongUsage(self._session.read_only)
        self._runs.save(run, path.absolute().parent / name, path)
        return {"saved": name}

    def open_results(self, file: str) -> Answer:
        """Add a result file to the runs."""
        found = results_of(self._session.path).get(file)
        if found is None:
            raise WrongUsage(f"{file} is not a result file, or there no longer")
        return self._runs.open(file, found)

    def iterations(self, run: int) -> Answer:
        return self._runs.iterations(run)

    def iterates(self, run: int, time: float) -> Answer:
        return self._runs.iterates(run, time)

    def plot(self, runs: Sequence[int], signals: Sequence[str]) -> Answer:
        return self._runs.plot(runs, signals)

    def signals(self, run: int) -> Answer:
        return self._runs.signals(run)

    def values(self, run: int, time: float) -> Answer:
        return self._runs.values(run, time)

    def differences(self, run: int, reference: int) -> Answer:
        return self._runs.differences(run, reference)

    def look_at_disk(self) -> None:
        """Detect changes by other programs, and tell the pages."""
        with self._lock:
            news: DiskNews | None = self._session.refresh()
            if news is not None:
                self._renewed()
                if self._session.conflict is None:  # otherwise the model contains the conflict while it lasts
                    self._tell({"event": "disk", "text": news.text})

    def _perform(self, gesture: Gesture, joined: ElementPath = ()) -> Answer:
        before = self._model.documented
        known = {block.path for sheet in before.values() for block in sheet.blocks}
        try:
            answer = self._changed(self._session.perform(gesture), joined)
            now = (block.path for sheet in self._model.documented.values() for block in sheet.blocks)
            return {**answer, "added": [path for path in now if path not in known and path[:-1] in before]}
        except BaseException:
            self._renew()  # the documents were read again
            raise

    def _changed(self, state: State, joined: ElementPath = ()) -> Answer:
        self._renewed(joined)
        return _told(state)

    def _renew(self, joined: ElementPath = ()) -> None:
        self._model = SystemModel(self._session.archive, self._session.structure, self._model, joined)

    def _renewed(self, joined: ElementPath = ()) -> None:
        self._renew(joined)
        self._version += 1
        self._tell({"event": "model", **self.model()})


def _told(state: State) -> Answer:
    return {"label": state.label, "notes": list(state.notes), "diff": state.diff}
