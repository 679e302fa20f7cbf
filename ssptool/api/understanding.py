"""What a system is made of, how its signals depend on each other, and why its variables have their values."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ssptool.api.opening import NO_OVERRIDES, valid
from ssptool.documents.archive import Archive
from ssptool.drawing.explanation import EXPLANATION_RENDERERS as EXPLANATION_RENDERERS
from ssptool.drawing.graphs import GRAPH_RENDERERS as GRAPH_RENDERERS
from ssptool.drawing.inventory import INVENTORY_RENDERERS as INVENTORY_RENDERERS
from ssptool.network.dependencies import Stage
from ssptool.network.explanation import Explained, explain_all
from ssptool.network.explanation import explain as explain_names
from ssptool.network.flatten import build_network
from ssptool.network.inventory import Inventory, take_inventory
from ssptool.network.network import Network
from ssptool.network.system_graph import SystemGraph, analyze


def flatten(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
) -> Network:
    """The flat network: components, wires with conversions, parameters with provenance."""
    with valid(path, variant) as (archive, structure):
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
