"""Event mode and clocks of FMI 3.0 co-simulation."""

from typing import TYPE_CHECKING

from ssptool.engine.on_demand import on_demand

if TYPE_CHECKING:
    from ssptool.engine.event_mode.agenda import WithoutInterval as WithoutInterval
    from ssptool.engine.event_mode.agenda import without_interval as without_interval
    from ssptool.engine.event_mode.clock_variables import clock_in as clock_in
    from ssptool.engine.event_mode.clock_variables import is_triggered as is_triggered
    from ssptool.engine.event_mode.events import begin_events as begin_events
    from ssptool.engine.event_mode.master import with_event_mode as with_event_mode
    from ssptool.engine.event_mode.running import Member as Member
    from ssptool.engine.event_mode.running import OutOfRange as OutOfRange
    from ssptool.engine.event_mode.running import RunningEvents as RunningEvents
    from ssptool.engine.event_mode.steps import StepReport as StepReport
    from ssptool.engine.event_mode.with_ode import shared_with_ode as shared_with_ode
    from ssptool.fmu.event_mode import EventMode as EventMode
else:
    __getattr__ = on_demand(
        __name__,
        {
            "agenda": (
                "WithoutInterval",
                "without_interval",
            ),
            "clock_variables": (
                "clock_in",
                "is_triggered",
            ),
            "events": ("begin_events",),
            "master": ("with_event_mode",),
            "running": (
                "EventMode",
                "Member",
                "OutOfRange",
                "RunningEvents",
            ),
            "steps": ("StepReport",),
            "with_ode": ("shared_with_ode",),
        },
    )
