"""The public functions: each opens a system, takes it as far as asked, and returns a frozen value.

`path` is an `.ssp`, the folder of an unpacked one, or an `.ssd`. `variant` names an SSD of the package by its
`name` or its file; without it `SystemStructure.ssd` is meant. `parameters` are `.ssv` files applied on top of the
system's own bindings, the last one winning; `overrides` (name → text) win over everything.

Common errors: FileNotFoundError, `InvalidDocument` (the file cannot be read at all), `UnknownVariant`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.draw.explanation import EXPLANATION_RENDERERS as EXPLANATION_RENDERERS
from ssptool.draw.graphs import GRAPH_RENDERERS as GRAPH_RENDERERS
from ssptool.draw.inventory import INVENTORY_RENDERERS as INVENTORY_RENDERERS
from ssptool.draw.plot import Curve, plot_signals
from ssptool.draw.plot import check_plot_name as check_plot_name
from ssptool.engine.call_sequence import call_sequence as call_sequence
from ssptool.engine.plan import Plan, make_plan
from ssptool.engine.settings import Settings as Settings
from ssptool.engine.simulate import Result, run
from ssptool.engine.trace import Trace
from ssptool.network.dependencies import Stage
from ssptool.network.explanation import Explained, explain_all
from ssptool.network.explanation import explain as explain_names
from ssptool.network.flatten import build_network
from ssptool.network.inventory import Inventory, take_inventory
from ssptool.network.network import Network
from ssptool.network.system_graph import SystemGraph, analyze
from ssptool.rules.renderers import RENDERERS
from ssptool.rules.report import Report
from ssptool.rules.runner import check, check_path

REPORT_RENDERERS = RENDERERS
NO_OVERRIDES: Mapping[str, str] = {}


class InvalidSystem(Exception):
    """The system has errors, so it is not run; `report` says which."""

    def __init__(self, report: Report) -> None:
        count = len(report.errors)
        what = f"{count} errors" if count > 1 else "an error"
        super().__init__(f"{report.subject} has {what} and is not run\n\n{RENDERERS['text'](report)}")
        self.report = report


def validate(path: Path | str, *, variant: str | None = None) -> Report:
    """Everything that is wrong with a system, with file, line, reason and fix. No FMU binary is loaded.

    Without `variant` all SSDs at the root of the package are checked. A file that cannot be opened as an archive is
    a finding as well.
    """
    return check_path(Path(path), variant)


def flatten(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
) -> Network:
    """The flat network: components, wires with conversions, parameters with provenance."""
    with _valid(path, variant) as (archive, structure):
        return build_network(archive, structure, overrides=overrides, parameter_files=parameters)


def info(path: Path | str, *, variant: str | None = None) -> Inventory:
    """What is in a system, at a glance."""
    with Archive.open(path) as archive:
        structure = archive.structure(variant)
        return take_inventory(archive, structure, build_network(archive, structure))


def explain(
    path: Path | str,
    *names: str,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
) -> tuple[Explained, ...]:
    """Why variables and connectors have their values, by their full names; without a name, all of them.

    A system with errors is explained as far as it can be flattened.

    Raises
    ------
    UnknownName
        The system has no such variable; `near` has names like it.
    """
    with Archive.open(path) as archive:
        structure = archive.structure(variant)
        network = build_network(archive, structure, overrides=overrides, parameter_files=parameters)
    return explain_names(network, *names) if names else explain_all(network)


def graph(path: Path | str, *, variant: str | None = None, stage: Stage = Stage.COMMUNICATION) -> SystemGraph:
    """Component cycles, algebraic loops with what closes them, and the evaluation order."""
    return analyze(flatten(path, variant=variant), stage)


def plan(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
    settings: Settings | None = None,
) -> Plan:
    """What a run would do, resolved to the last call, made without loading a binary."""
    network = flatten(path, variant=variant, parameters=parameters, overrides=overrides)
    return make_plan(network, settings or Settings())


def simulate(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
    settings: Settings | None = None,
    output: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Initialize and co-simulate a system.

    Parameters
    ----------
    output
        CSV file to which the trace is streamed; `time` first, then one column per connector by its full name.
    progress
        Called with the fraction 0 … 1 of the interval that is done.

    Returns
    -------
    Result
        The trace, how initialization went, statistics; `status` says whether the run reached its end.

    Raises
    ------
    InvalidSystem
        The system has errors. No binary has been loaded.
    """
    with _valid(path, variant) as (archive, structure):
        network = build_network(archive, structure, overrides=overrides, parameter_files=parameters)
        return run(make_plan(network, settings or Settings()), archive, output=output, progress=progress)


def plot(trace: Trace, path: Path, title: str = "") -> None:
    """Draw every signal of a trace, one panel per unit, into a PNG, SVG or PDF file."""
    curves = [
        Curve(column.signal, column.unit, trace[column.signal]) for column in trace.columns if column.type == "Float64"
    ]
    plot_signals(trace.t, curves, path, title)


@contextmanager
def _valid(path: Path | str, variant: str | None) -> Iterator[tuple[Archive, Document]]:
    """An open archive and a structure in it that has no errors."""
    with Archive.open(path) as archive:
        structure = archive.structure(variant)
        report = check(archive, structure.name)
        if report.errors:
            raise InvalidSystem(report)
        yield archive, structure
