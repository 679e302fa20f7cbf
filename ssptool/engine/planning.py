"""From an open system to the plan of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.engine.plan import Plan, make_plan
from ssptool.engine.settings import Settings
from ssptool.engine.stimuli.inputs import Given
from ssptool.engine.stimuli.resolve import resolve
from ssptool.engine.stimuli.scenario import Scenario
from ssptool.network.flatten import build_network
from ssptool.network.units import document_units


def planned(
    archive: Archive,
    structure: Document,
    *,
    parameters: Sequence[Path],
    overrides: Mapping[str, str],
    settings: Settings | None,
    inputs: Given | None,
    scenario: Scenario | Path | str | None,
) -> Plan:
    """The plan for a structure of an archive."""
    settings = settings or Settings()
    network = build_network(archive, structure, overrides=overrides, parameter_files=parameters)
    units = document_units(structure.root_as(SystemStructureDescription))
    return make_plan(network, settings, resolve(network, settings, inputs, scenario, units))
