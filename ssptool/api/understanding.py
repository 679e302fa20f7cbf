"""What a system is made of, how its signals depend on each other, and why its variables have their values."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ssptool.api.opening import NO_START_VALUES, Codes, Files, StartValues, parameter_files, valid
from ssptool.arguments import start_value_texts
from ssptool.documents.archive import Archive
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.drawing.explanation import EXPLANATION_RENDERERS as EXPLANATION_RENDERERS
from ssptool.drawing.graphs import GRAPH_RENDERERS as GRAPH_RENDERERS
from ssptool.drawing.inventory import INVENTORY_RENDERERS as INVENTORY_RENDERERS
from ssptool.network.dependencies import Stage
from ssptool.network.explanation import Explained, Explanation, explain_all
from ssptool.network.explanation import explain as explain_names
from ssptool.network.flatten import build_network
from ssptool.network.inventory import Inventory, take_inventory
from ssptool.network.network import Network
from ssptool.network.system_graph import SystemGraph, analyze
from ssptool.network.units import document_units

if TYPE_CHECKING:
    from ssptool.engine.stimuli.inputs import Given
    from ssptool.engine.stimuli.scenario import Scenario


def flatten(
    system: Path | str,
    *,
    variant: str | None = None,
    parameters: Files = (),
    start_values: StartValues = NO_START_VALUES,
    accept: Codes = (),
) -> Network:
    """The flat network: components, wires with conversions, parameters with provenance.

    Raises
    ------
    InvalidSystem
        The system has errors that `accept` does not name; see `simulate`.
    """
    files, values = parameter_files(parameters), start_value_texts("start_values", start_values)
    with valid(system, variant, accept) as (archive, structure, accepted):
        network = build_network(archive, structure, start_values=values, parameter_files=files)
        return network.accepting(accepted.codes)


def info(system: Path | str, *, variant: str | None = None) -> Inventory:
    """What is in a system, at a glance."""
    with Archive.open(system) as archive:
        structure = archive.structure(variant)
        return take_inventory(archive, structure, build_network(archive, structure))


def explain(
    system: Path | str,
    *names: str,
    variant: str | None = None,
    parameters: Files = (),
    start_values: StartValues = NO_START_VALUES,
    inputs: "Given | None" = None,
    interpolation: str | Mapping[str, str] | None = None,
    scenario: "Scenario | Path | str | None" = None,
) -> tuple[Explained, ...]:
    """Why variables and connectors have their values, by their full names; without a name, all of them.

    A system with errors is explained as far as it can be flattened. With `inputs` and `scenario` also what these do to
    them during a run.

    Raises
    ------
    UnknownName
        The system has no such variable; `near` has names like it.
    BadInputs, BadScenario
        They do not fit the system.
    """
    files, values = parameter_files(parameters), start_value_texts("start_values", start_values)
    with Archive.open(system) as archive:
        structure = archive.structure(variant)
        network = build_network(archive, structure, start_values=values, parameter_files=files)
        units = document_units(structure.root_as(SystemStructureDescription))
    explained = explain_names(network, *names) if names else explain_all(network)
    if inputs is None and scenario is None:
        return explained
    # Only here: the engine takes a while to load.
    from ssptool.engine.settings import Settings
    from ssptool.engine.stimuli.origins import acting_on
    from ssptool.engine.stimuli.resolve import resolve

    acting = acting_on(resolve(network, Settings(), inputs, interpolation, scenario, units))
    return tuple(
        replace(one, during=acting.get(one.signal, ())) if isinstance(one, Explanation) else one for one in explained
    )


def graph(
    system: Path | str,
    *,
    variant: str | None = None,
    stage: Stage = Stage.COMMUNICATION,
    accept: Codes = (),
) -> SystemGraph:
    """Component cycles, algebraic loops with what closes them, and the evaluation order. Raises as `flatten`."""
    return analyze(flatten(system, variant=variant, accept=accept), stage)
