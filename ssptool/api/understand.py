"""Inventory, dependency graph, flat network, and origin of values of a system.

This module loads neither drawing code nor the engine, except `explain` with `inputs` or `scenario`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from ssptool.api.check import (
    DEFAULTS,
    NO_START_VALUES,
    Codes,
    Files,
    StartValues,
    SystemOptions,
    open_archive,
    parameter_files,
    refuse_unknown,
    shows,
    valid,
)
from ssptool.arguments import start_value_texts, text, texts, word
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.drawing.graph import GRAPH_RENDERERS as GRAPH_RENDERERS
from ssptool.drawing.text import EXPLANATION_RENDERERS as EXPLANATION_RENDERERS
from ssptool.drawing.text import INVENTORY_RENDERERS as INVENTORY_RENDERERS
from ssptool.engine.recording.patterns import checked_patterns, fits, fits_any
from ssptool.network.conversion import document_units
from ssptool.network.dependencies import SystemGraph, analyze
from ssptool.network.explanation import Explanation, Explanations, explain_all
from ssptool.network.explanation import explain as explain_names
from ssptool.network.flatten import build_network
from ssptool.network.inventory import Inventory, VariableEntry, components_called, list_variables, take_inventory
from ssptool.network.network import Network
from ssptool.network.signal_graph import Stage
from ssptool.public_calls import public
from ssptool.rules.selection import SettingsFile


@public
def flatten(
    system: Path | str,
    *,
    variant: str | None = None,
    parameters: Files = (),
    start_values: StartValues = NO_START_VALUES,
    accept: Codes = (),
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
) -> Network:
    """Flatten a system to a network: components, wires with conversions, parameters with their origin.

    Raises
    ------
    InvalidSystem
        The system has errors that are not accepted; see `simulate`.
    """
    files, values = parameter_files(parameters), start_value_texts("start_values", start_values)
    with valid(system, variant, accept, allow_outside, settings_file) as (archive, structure, accepted, *_):
        network = build_network(archive, structure, start_values=values, parameter_files=files)
        return network.accepting(accepted.codes)


@public
def info(
    system: Path | str,
    *,
    variant: str | None = None,
    component: str | None = None,
    variables: str | Sequence[str] = (),
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
) -> Inventory:
    """List the contents of a system; for one component or a single FMU also its variables.

    Parameters
    ----------
    component
        Full name of a component or nested system: list only this component, or the components of this nested system,
        with their variables.
    variables
        List variables that match one of these patterns, such as "*.x1" or "x*". A pattern matches full names or names
        in the FMU.

    Raises
    ------
    UnknownName
        The system has no component of this name; `near` contains similar names.
    UnknownName
        A pattern matches no variable.
    """
    patterns = texts("variables", variables, "a pattern")
    if component is not None:
        component = text("component", component)
    with open_archive(system, allow_outside, settings_file) as archive:
        structure = archive.structure(variant)
        network = build_network(archive, structure)
        inventory = take_inventory(archive, structure, network)
        whole = archive.is_generated and len(network.components) == 1
    asked = (*network.components, *network.tables) if component is None else components_called(network, component)
    if component is not None:
        kept = tuple(entry for entry in inventory.components if entry.name in asked)
        inventory = replace(inventory, components=kept)
    if component is None and not patterns and not whole:
        return inventory
    return replace(inventory, variables=_chosen(list_variables(network, asked), patterns))


def _chosen(variables: tuple[VariableEntry, ...], patterns: tuple[str, ...]) -> tuple[VariableEntry, ...]:
    if not patterns:
        return variables
    own = {entry.variable for entry in variables}
    inside = [pattern for pattern in patterns if any(fits(pattern, name) for name in own)]
    others = [pattern for pattern in patterns if pattern not in inside]
    patterns = (*inside, *checked_patterns(others, [entry.name for entry in variables], "variable"))
    return tuple(one for one in variables if fits_any(patterns, one.name) or fits_any(patterns, one.variable))


@public
@shows(SystemOptions.__annotations__, SystemOptions)
def explain(system: Path | str, *names: str, **options: Unpack[SystemOptions]) -> Explanations:
    """Explain the values of variables and connectors, by full names (default: all).

    A system with errors is explained as far as it can be flattened. With `inputs` or `scenario`, the explanations also
    state their effect during a run.

    Raises
    ------
    UnknownName
        The system has no such variable; `near` contains similar names, `explained` the results for the other names.
    BadData
        The inputs or the scenario do not fit the system.
    """
    refuse_unknown(explain, options)
    given = {**DEFAULTS, **options}
    files = parameter_files(given["parameters"])
    values = start_value_texts("start_values", given["start_values"])
    with open_archive(system, given["allow_outside"], given["settings_file"]) as archive:
        structure = archive.structure(given["variant"])
        network = build_network(archive, structure, start_values=values, parameter_files=files)
        units = document_units(structure.root_as(SystemStructureDescription))
    names = texts("names", names, "the name of a variable")
    explained = explain_names(network, *names) if names else explain_all(network)
    if given["inputs"] is None and given["scenario"] is None:
        return explained
    # Only here: the engine takes a while to load.
    from ssptool.engine.planning.stimuli import resolve, stimuli_by_signal
    from ssptool.engine.settings import Settings

    acting = stimuli_by_signal(
        resolve(network, Settings(), given["inputs"], given["interpolation"], given["scenario"], units)
    )
    return type(explained)(
        replace(one, during=acting.get(one.signal, ())) if isinstance(one, Explanation) else one for one in explained
    )


@public
def graph(
    system: Path | str,
    *,
    variant: str | None = None,
    stage: Stage = Stage.COMMUNICATION,
    accept: Codes = (),
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
) -> SystemGraph:
    """Find component cycles, algebraic loops with the connections that close them, and the evaluation order.

    Raises as `flatten`.
    """
    network = flatten(system, variant=variant, accept=accept, allow_outside=allow_outside, settings_file=settings_file)
    return analyze(network, word("stage", stage, Stage))
