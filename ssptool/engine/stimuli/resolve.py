"""From what a user gives to what acts on a system."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ssptool.arguments import WrongArgument, path
from ssptool.engine import stimuli
from ssptool.engine.choices import start_time
from ssptool.engine.settings import Settings
from ssptool.engine.stimuli.stimuli import NO_STIMULI, Stimuli, of_tables
from ssptool.fmu.units import Unit
from ssptool.network.network import Network

if TYPE_CHECKING:
    from ssptool.engine.stimuli.inputs import Given
    from ssptool.engine.stimuli.scenario import Scenario


def resolve(
    network: Network,
    settings: Settings,
    inputs: "Given | None",
    interpolation: str | Mapping[str, str] | None,
    scenario: "Scenario | Path | str | None",
    units: Mapping[str, Unit],
) -> Stimuli:
    """What acts on the system: `units` are those that its documents define.

    Raises
    ------
    BadInputs, BadScenario
        With everything that is wrong with them.
    OSError
        A file cannot be read.
    """
    if interpolation is not None and inputs is None:
        raise WrongArgument("interpolation", interpolation, "left out where there are no inputs")
    if inputs is None and scenario is None and not network.tables:
        return NO_STIMULI
    if interpolation is not None:
        inputs = stimuli.interpolated(inputs, interpolation)
    driven = () if inputs is None else stimuli.resolve_inputs(inputs, network, units)
    given = {one.signal for one in driven}
    driven = (*(one for one in of_tables(network) if one.signal not in given), *driven)
    files = dict.fromkeys(one.file for one in driven if one.file is not None)
    if scenario is None:
        return Stimuli(driven, files=tuple(files))
    if not isinstance(scenario, stimuli.Scenario):
        scenario = stimuli.read_scenario(path("scenario", scenario))
    resolved = stimuli.resolve_scenario(scenario, network, driven, start_time(network, settings)[0])
    more = () if scenario.file is None else (scenario.file,)
    return replace(resolved, files=(*files, *more))
