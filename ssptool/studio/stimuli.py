"""Scenarios and input files of runs: files next to the system, their contents, and their edits."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssptool.documents.csv_columns import CsvColumn, bracketed, read_columns, sidecar
from ssptool.documents.diagnostics import BadData
from ssptool.documents.document import Document
from ssptool.documents.foreign_files import read_text
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.engine.planning.interval import start_time
from ssptool.engine.planning.stimuli import resolve
from ssptool.engine.recording.formats import FORMATS, is_result
from ssptool.engine.settings import Settings
from ssptool.engine.stimuli.inputs import LINEAR_TYPES
from ssptool.engine.stimuli.scenario import Event, Scenario
from ssptool.engine.stimuli.scenario_file import scenario_from
from ssptool.engine.stimuli.stimuli import targets
from ssptool.errors import WrongUsage
from ssptool.fmu.description import Variability
from ssptool.network.conversion import document_units
from ssptool.network.network import Network, Port, Signal
from ssptool.option_words import ActionWord, Sharing
from ssptool.studio.scenario_text import EMPTY, with_changed, with_event, without
from ssptool.studio.signal_text import SignalText, new_signals
from ssptool.tempfiles import TemporaryFolder

SCENARIOS = (".yaml", ".yml", ".json")
INPUTS = (".csv",)
LARGEST = 1 << 20
"""Largest size of a file that is read to find out whether it is a scenario [byte]."""
MOST_ROWS = 2000
"""Largest number of rows that the page shows and edits."""


def folders(system: Path) -> Iterator[Path]:
    """Folders of scenarios, inputs, studies and results of a system: the folder that contains it, and its own
    folder.
    """
    yield system.absolute().parent
    if system.is_dir():
        yield system.absolute()


def listed(system: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """Files with these extensions around a system, with names relative to the folder that contains it."""
    base = system.absolute().parent
    for folder in folders(system):
        with suppress(OSError):
            for file in sorted(folder.iterdir()):
                if file.suffix.lower() in suffixes and file.is_file() and not file.name.startswith("."):
                    yield file.relative_to(base).as_posix(), file


def is_scenario(file: Path) -> bool:
    with suppress(OSError, UnicodeDecodeError):
        return file.stat().st_size < LARGEST and "events" in read_text(file)
    return False


def is_input(file: Path) -> bool:
    """True if the first column of a file contains times, and a run did not write the file."""
    with suppress(OSError, UnicodeDecodeError), file.open(encoding="utf-8-sig") as opened:
        head = opened.readline()
        head = opened.readline() if head.lower().startswith(("sep=", '"sep=')) else head
        return head.lower().lstrip('"').startswith("time") and not sidecar(file).exists()
    return False


def results_of(system: Path) -> dict[str, Path]:
    """Files that runs have written around a system, or to a folder `results` there."""
    there, base = dict(listed(system, tuple(FORMATS))), system.absolute().parent
    for folder in folders(system):
        inside = listed(folder / "results" / system.name, tuple(FORMATS))
        there |= {file.relative_to(base).as_posix(): file for _, file in inside}
    return {name: file for name, file in there.items() if is_result(file)}


# -- edits -------------------------------------------------------------------------------------------------------------


def _add_event(text: str, variable: str, time: float, action: ActionWord, value: Any = None) -> str:
    return with_event(text or EMPTY, Event(float(time), variable, action, value))


def _set_event(text: str, event: int, time: float, action: ActionWord, value: Any = None) -> str:
    return with_changed(text, event, float(time), action, value)


def _remove_event(text: str, event: int) -> str:
    return without(text, event)


def _add_point(text: str, signal: str, time: float, value: str, linear: list[str]) -> str:
    return SignalText.of(text).with_row(signal, float(time), value, linear).text


def _set_point(text: str, signal: str, row: int, time: float, value: str) -> str:
    return SignalText.of(text).with_point(row, signal, float(time), value).text


def _remove_row(text: str, row: int) -> str:
    return SignalText.of(text).without_row(row).text


def _add_signal(text: str, signal: str, value: str, unit: str | None = None) -> str:
    return SignalText.of(text).with_signal(signal, unit, value).text if text else new_signals(signal, unit, value)


CHANGES: Mapping[str, Callable[..., str]] = {
    "add_event": _add_event,
    "set_event": _set_event,
    "remove_event": _remove_event,
    "add_point": _add_point,
    "set_point": _set_point,
    "remove_row": _remove_row,
    "add_signal": _add_signal,
}


@dataclass(frozen=True, slots=True)
class EditStimulus:
    """A change of a scenario or an input file, given by its name relative to the folder that contains the system."""

    file: str
    change: str
    arguments: Mapping[str, Any]
    before: str = ""
    """The content of the file that the page has shown."""
    sharing: Sharing = Sharing.REFUSE

    @property
    def label(self) -> str:
        told = [str(value) for name, value in self.arguments.items() if name not in ("event", "row", "linear", "unit")]
        return f"{self.file}: {' '.join([self.change.replace('_', ' '), *told])}"

    def changed(self, content: bytes | None) -> bytes:
        """The changed content. Raises WrongUsage, and the errors of the change."""
        if self.change not in CHANGES:
            raise WrongUsage(f"there is no change {self.change!r}; there are {', '.join(CHANGES)}")
        mark, text = b"", "" if content is None else content.decode("utf-8")
        if text.startswith("\ufeff"):
            mark, text = "\ufeff".encode(), text[1:]
        if text != self.before:
            raise WrongUsage(f"{self.file} has changed in the meantime; check it again")
        return mark + CHANGES[self.change](text, **self.arguments).encode()


def checked_name(name: str, suffixes: tuple[str, ...]) -> str:
    """Name of a file around the system, which need not exist yet."""
    path = Path(name)
    leads_out = "\0" in name or path.is_absolute() or ".." in path.parts
    if leads_out or path.suffix.lower() not in suffixes or path.name.startswith("."):
        raise WrongUsage(f"{name!r} cannot be the name of this file; it ends in {' or '.join(suffixes)}")
    return path.as_posix()


# -- content of the files ----------------------------------------------------------------------------------------------


def scenario_content(text: str, name: str) -> dict[str, Any]:
    """The events of a scenario; the error if it cannot be read."""
    if not name:
        return {"text": "", "events": [], "end": None, "problem": ""}
    try:
        scenario = scenario_from(text, name)
    except BadData as bad:
        return {"text": text, "events": [], "end": None, "problem": str(bad)}
    events = [
        {"number": number, "time": one.time, "variable": one.variable, "action": str(one.action), "value": one.value}
        for number, one in enumerate(scenario.events)
    ]
    return {"text": text, "events": events, "end": scenario.end, "problem": ""}


def input_content(text: str, name: str, network: Network | None) -> dict[str, Any]:
    """The signals of an input file; the error if it cannot be read."""
    if not name:
        return {"text": "", "signals": [], "problem": ""}
    with TemporaryFolder() as folder:
        file = Path(folder, "inputs.csv")
        file.write_text(text, encoding="utf-8", newline="")
        columns, findings = read_columns(file, name)
    if findings:
        return {"text": text, "signals": [], "problem": "\n".join(map(str, findings))}
    known = {} if network is None else targets(network)
    signals = [_signal(one, known) for one in columns]
    long = f"more than {MOST_ROWS} rows: edit them with another program" if len(columns[0].times) > MOST_ROWS else ""
    problem = long or columns[0].note
    return {"text": text, "signals": [] if problem else signals, "problem": problem}


def _signal(column: CsvColumn, known: Mapping[str, Any]) -> dict[str, Any]:
    name, unit = (column.name, None) if column.name in known else bracketed(column.name) or (column.name, None)
    target = known.get(name)
    return {
        "name": name,
        "unit": unit or ("" if target is None else target.unit or ""),
        "linear": target is None or target.type in LINEAR_TYPES,
        "times": column.times,
        "values": list(column.numbers),
    }


def variables_of(network: Network | None) -> list[dict[str, str]]:
    """Variables that a scenario can change: inputs, outputs, tunable parameters."""
    if network is None:
        return []
    ports: list[Port] = [*network.ports, *(port for one in network.components.values() for port in one.ports)]
    found = {
        str(port.signal): {"name": str(port.signal), "unit": port.unit or "", "type": port.type}
        for port in ports
        if port.kind in ("input", "output")
    }
    for component in network.components.values():
        for variable in component.description.variables.values():
            if variable.variability is Variability.TUNABLE:
                name = str(Signal(component.name, variable.name))
                found.setdefault(name, {"name": name, "unit": variable.unit or "", "type": variable.type})
    return list(found.values())


class ChosenStimuli:
    """The scenario and the input file of a run; `content` returns the present text of a file, saved or not."""

    def __init__(self, content: Callable[[str], bytes | None], scenario: str, inputs: str) -> None:
        for name, suffixes in ((scenario, SCENARIOS), (inputs, INPUTS)):
            if name:
                checked_name(name, suffixes)
        self._texts = {name: content(name) for name in (scenario, inputs) if name}
        if missing := [name for name, found in self._texts.items() if found is None]:
            raise WrongUsage(f"{missing[0]} is there no longer")
        self.scenario_name = scenario
        self.inputs_name = inputs

    def text(self, name: str) -> str:
        return (self._texts.get(name) or b"").decode("utf-8-sig")

    def scenario(self) -> Scenario | None:
        """The chosen scenario, or None. Raises BadData."""
        return scenario_from(self.text(self.scenario_name), self.scenario_name) if self.scenario_name else None

    @contextmanager
    def inputs(self) -> Iterator[Path | None]:
        """Context with the input file, which is written to disk for reading."""
        with TemporaryFolder() as folder:
            file = Path(folder, Path(self.inputs_name).name)
            if self.inputs_name:
                file.write_bytes(self._texts[self.inputs_name] or b"")
            yield file if self.inputs_name else None


def content_of(chosen: ChosenStimuli, network: Network | None, structure: Document) -> dict[str, Any]:
    """Content of the chosen files, variables that they could drive, and reasons why a run would reject them."""
    names = {"scenario": chosen.scenario_name, "inputs": chosen.inputs_name}
    scenario, inputs = (chosen.text(name) for name in names.values())
    found = {
        "scenario": {"file": names["scenario"], **scenario_content(scenario, names["scenario"])},
        "input": {"file": names["inputs"], **input_content(inputs, names["inputs"], network)},
    }
    problems = [one["problem"] for one in found.values() if one["file"] and one["problem"]]
    if not problems and network is not None and any(names.values()):
        units = document_units(structure.root_as(SystemStructureDescription))
        try:
            with chosen.inputs() as file:
                resolve(network, Settings(), file, None, chosen.scenario(), units)
        except BadData as bad:
            problems = [str(bad)]
    free = {} if network is None else targets(network)
    return {
        **found,
        "problems": problems,
        "free": [{"name": name, "unit": one.unit or "", "type": one.type} for name, one in free.items()],
        "variables": variables_of(network),
        "start": 0.0 if network is None else start_time(network, Settings())[0],
        "stop": None if network is None else _stop(network),
    }


def _stop(network: Network) -> float | None:
    """The stop time that the system or its FMUs state [s]."""
    stated = [one.description.experiment.stop for one in network.components.values()]
    return network.experiment.stop or max((time for time in stated if time is not None), default=None)
