"""What acts on a system from outside while it runs: courses of its inputs, and scenarios."""

from typing import TYPE_CHECKING

from ssptool.engine.on_demand import on_demand

if TYPE_CHECKING:
    from ssptool.engine.stimuli.actions import resolve_scenario as resolve_scenario
    from ssptool.engine.stimuli.driver import Driver as Driver
    from ssptool.engine.stimuli.inputs import interpolated as interpolated
    from ssptool.engine.stimuli.inputs import resolve_inputs as resolve_inputs
    from ssptool.engine.stimuli.scenario import Scenario as Scenario
    from ssptool.engine.stimuli.scenario_file import read_scenario as read_scenario
else:
    __getattr__ = on_demand(
        __name__,
        {
            "actions": ("resolve_scenario",),
            "driver": ("Driver",),
            "inputs": ("interpolated", "resolve_inputs"),
            "scenario": ("Scenario",),
            "scenario_file": ("read_scenario",),
        },
    )
