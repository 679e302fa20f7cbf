"""Capabilities of the exported FMU of a system: the weakest ones of its parts, each with its reason."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from ssptool.engine.kernel.calls import FLOAT, DrivenInput, DrivenInputMode
from ssptool.engine.planning.plan import Plan
from ssptool.engine.planning.stimuli import input_mode, slot_sources
from ssptool.errors import abbreviated
from ssptool.fmu.description import Interface, InterfaceType


class ExportInterface(StrEnum):
    """The interface types of an exported FMU."""

    CS = "cs"
    ME = "me"
    BOTH = "both"

    @property
    def types(self) -> tuple[InterfaceType, ...]:
        """Interface types in the order of a model description."""
        exchange, simulation = (InterfaceType.MODEL_EXCHANGE,), (InterfaceType.CO_SIMULATION,)
        return exchange * (self is not ExportInterface.CS) + simulation * (self is not ExportInterface.ME)


class ExportCapability(NamedTuple):
    """A capability of an exported FMU: whether it is supported, and the reason. `flag` is the attribute of FMI 2.0, or
    of the versions from `since` to `until`.
    """

    flag: str
    able: bool
    reason: str
    since: int = 2
    until: int = 3


def export_capabilities(plan: Plan) -> tuple[ExportCapability, ...]:
    """Capabilities in the order of FMI 2.0."""
    return (
        _of_all(plan, "canHandleVariableCommunicationStepSize", "take steps of any size", _varies),
        _interpolates(plan)._replace(until=2),
        _of_all(plan, "canGetAndSetFMUstate", "save their states", lambda interface: interface.saves_state),
        _of_all(
            plan,
            "canSerializeFMUstate",
            "turn their states into bytes",
            lambda interface: interface.saves_state and interface.serializes_state,
        ),
        _of_all(
            plan,
            "providesDirectionalDerivative",
            "give directional derivatives",
            _gives_derivatives,
        ),
        _of_all(plan, "providesAdjointDerivatives", "give directional derivatives", _gives_derivatives)._replace(
            since=3
        ),
        *_events(plan),
    )


def _events(plan: Plan) -> Iterator[ExportCapability]:
    """Event mode of co-simulation, and early returns to it."""
    mode, early = "hasEventMode", "mightReturnEarlyFromDoStep"
    if plan.ode is not None:
        reason = "events of components that are integrated are handled inside"
    elif not plan.event_modes:
        reason = "no component has an event mode, or needs it"
    else:
        names = abbreviated(list(plan.event_modes.members))
        yield ExportCapability(mode, True, f"events of {names} are offered to importers", 3)
        yield ExportCapability(early, True, "steps end where there is an event, if the importer allows it", 3)
        return
    yield from (ExportCapability(flag, False, reason, 3) for flag in (mode, early))


_NAMES_IN_FMI3 = {
    "canGetAndSetFMUstate": "canGetAndSetFMUState",
    "canSerializeFMUstate": "canSerializeFMUState",
    "providesDirectionalDerivative": "providesDirectionalDerivatives",
}
"""Flag of FMI 2.0 → flag of FMI 3.0, if the name differs."""


def capabilities_in(plan: Plan, fmi: int) -> tuple[ExportCapability, ...]:
    """Capabilities that this version of FMI has, with the names of its flags."""
    names = _NAMES_IN_FMI3 if fmi == 3 else {}
    known = (one for one in export_capabilities(plan) if one.since <= fmi <= one.until)
    return tuple(one._replace(flag=names.get(one.flag, one.flag)) for one in known)


def driven_by_inputs(plan: Plan) -> tuple[DrivenInput, ...]:
    """Inputs of components that are connected to inputs of the system, with their course over a macro step."""
    signals = {one.slot: one.time_signal for one in slot_sources(plan)}
    inside = {slot: (one, place) for one in plan.instances for place, slot in enumerate(one.input_slots)}
    return tuple(
        DrivenInput(
            wire.destination,
            input_mode(
                plan,
                *inside[wire.destination],
                signals[wire.source].continuous if wire.source in signals else plan.types[wire.source] == FLOAT,
            ),
        )
        for wire in plan.wires
        if not plan.signals[wire.source].component and wire.destination in inside
    )


def _interpolates(plan: Plan) -> ExportCapability:
    flag = "canInterpolateInputs"
    if plan.ode is not None or plan.event_modes:
        return ExportCapability(flag, False, "inputs of what has events or is integrated are held")
    ours = {one.slot for one in slot_sources(plan)}
    sources = {wire.destination: wire.source for wire in plan.wires}
    driven = [one for one in driven_by_inputs(plan) if sources[one.slot] not in ours]
    if any(one.running is not DrivenInputMode.HELD for one in driven):
        return ExportCapability(flag, True, "inputs run over a communication step as their derivatives say")
    why = "inputs of components are held" if driven else "the system has no inputs"
    return ExportCapability(flag, False, why)


def able(plan: Plan, flag: str) -> bool:
    """True if an exported FMU has the capability of this flag."""
    return next(one.able for one in export_capabilities(plan) if one.flag == flag)


def _gives_derivatives(interface: Interface) -> bool:
    return interface.directional_derivatives


def completed_step(plan: Plan) -> bool:
    """True if an exported model-exchange FMU needs fmi…CompletedIntegratorStep."""
    return any(one.used_interface.needs_completed_step for one in plan.integrated)


def _varies(interface: Interface) -> bool:
    return interface.any_step


def _of_all(plan: Plan, flag: str, does: str, has: Callable[[Interface], bool]) -> ExportCapability:
    integrated = plan.integrated if has is _varies else ()  # integrated components can reach any time
    without = [one.name for one in plan.instances if not has(one.used_interface) and one not in integrated]
    if not without:
        return ExportCapability(flag, True, f"all components {does}")
    what = does.replace("their", "its", 1) if len(without) == 1 else does
    return ExportCapability(flag, False, f"{abbreviated(without)} cannot {what}")
