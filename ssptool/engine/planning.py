"""From an open system to the plan of a run."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.engine.make_plan import make_plan
from ssptool.engine.plan import Plan
from ssptool.engine.power_bonds import NotAPowerBond, PowerBond, Units, bonds_of_terminals, declared_bonds
from ssptool.engine.settings import Settings
from ssptool.engine.stimuli.resolve import resolve
from ssptool.fmu.terminals import Terminal, UnreadableTerminals, read_terminals
from ssptool.network.flatten import build_network
from ssptool.network.network import Network
from ssptool.network.units import document_units
from ssptool.rules.acceptance import NOTHING_ACCEPTED, Acceptance

if TYPE_CHECKING:
    from ssptool.engine.stimuli.inputs import Given
    from ssptool.engine.stimuli.scenario import Scenario


def planned(
    archive: Archive,
    structure: Document,
    *,
    parameters: Sequence[Path],
    start_values: Mapping[str, str],
    settings: Settings | None,
    inputs: "Given | None",
    interpolation: str | Mapping[str, str] | None = None,
    scenario: "Scenario | Path | str | None",
    accepted: Acceptance = NOTHING_ACCEPTED,
) -> Plan:
    """The plan for a structure of an archive, in spite of the findings that are accepted."""
    settings = settings or Settings()
    network = build_network(archive, structure, start_values=start_values, parameter_files=parameters)
    network = network.accepting(accepted.codes)
    units = document_units(structure.root_as(SystemStructureDescription))
    stimuli = resolve(network, settings, inputs, interpolation, scenario, units)
    bonds = _bonds(archive, network, units) if settings.adaptive is not None and not settings.power_bonds else ()
    plan = make_plan(network, settings, stimuli, bonds, units)
    return replace(plan, accepted=accepted.findings, notes=(*accepted.notes, *plan.notes))


def _bonds(archive: Archive, network: Network, units: Units) -> tuple[PowerBond, ...]:
    """What annotations and terminals say of them; one that cannot be read says nothing."""
    stated: list[PowerBond] = []
    for pair in network.annotated.power_bonds:
        with contextlib.suppress(NotAPowerBond):
            stated.extend(declared_bonds(network, [pair], units))
    if stated:
        return tuple(stated)
    terminals: dict[str, Mapping[str, Terminal]] = {}
    for name, component in network.components.items():
        with contextlib.suppress(UnreadableTerminals):
            terminals[name] = read_terminals(archive.local_path(component.source))
    return bonds_of_terminals(network, terminals, units)
