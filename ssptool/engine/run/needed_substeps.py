"""Substeps by need: the number of steps that components need in each macro step, found in the first one."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ssptool.engine.failure import Ending, Failure, UnsupportedByFmu
from ssptool.engine.kernel.calls import ACCESS, FLOAT
from ssptool.engine.masters.registry import SAVES, VARIES_STEP, Capabilities
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.feedthrough import frozen_end, is_continuous
from ssptool.engine.run.frozen_variables import Json
from ssptool.engine.settings import BY_NEED, Choice, Settings
from ssptool.errors import ContradictingSettings, abbreviated

FOUND = "its outputs after the first macro step change by less than 1 % if it has twice as many"

STATE_IT = "state their number"


def by_need(settings: Settings, everyone: Mapping[str, Capabilities], with_events: Collection[str]) -> tuple[str, ...]:
    """The components that get as many substeps as they need.

    Raises
    ------
    UnsupportedByFmu
        An FMU does not save its state, or accepts only one step size.
    ContradictingSettings
        Steps are adaptive, or a component has events.
    """
    names = tuple(name for name, asked in settings.substeps.items() if asked == BY_NEED)
    for name in names:
        asked, can = f"substeps of {name} by need", everyone[name]
        if settings.adaptive is not None:
            raise ContradictingSettings(asked, "the size of macro steps is not known at the start", STATE_IT)
        if name in with_events:
            raise ContradictingSettings(asked, "its events are handled in event mode, and end steps", STATE_IT)
        if not can.varies_step:
            raise UnsupportedByFmu(name, VARIES_STEP, asked, f"--substeps {name}=N, or none")
        if not can.saves_state:
            repeated = f"{asked}, for which the first step is repeated,"
            raise UnsupportedByFmu(name, SAVES, repeated, f"--substeps {name}=N")
    return names


def frozen_trials(plan: Plan) -> Iterator[Json]:
    """Components whose first step is tried: variables to vary, and variables that must not depend on the number of
    substeps.
    """
    for number, one in enumerate(plan.instances):
        if one.name not in plan.by_need:
            continue
        variables = one.description.variables
        ends = [
            [
                frozen_end(variables[signal.variable], slot)
                for signal, slot in zip(signals, slots, strict=True)
                if is_continuous(variables[signal.variable])
            ]
            for signals, slots in ((one.inputs, one.input_slots), (one.outputs, one.output_slots))
        ]
        yield {
            "part": number,
            "type": ACCESS[one.description.fmi_major][FLOAT],
            "inputs": ends[0],
            "outputs": ends[1],
        }


def found_substeps(plan: Plan, numbers: Sequence[int]) -> tuple[Mapping[str, int], Failure | None]:
    """Number of substeps by component, in the order of the trials; or a failure if one of them is 0."""
    tried = [one.name for one in plan.instances if one.name in plan.by_need]
    found = dict(zip(tried, numbers, strict=True))
    missing = [name for name, number in found.items() if not number]
    if not missing:
        return found, None
    return {}, Failure(
        Ending.STEP,
        f"the first macro step of {abbreviated(missing)} depends on the number of substeps, however many there are",
        "state their number, or use a smaller step size",
        plan.interval.start,
        missing[0],
    )


def with_substeps(plan: Plan, found: Mapping[str, int]) -> Plan:
    """The plan with these numbers of substeps, as if the settings stated them."""
    counts = {**plan.substep_counts, **found}
    told = ", ".join(f"{count} of {name}" for name, count in counts.items())
    reason = f"as many as {abbreviated(list(found))} need{'s' if len(found) == 1 else ''}: {FOUND}"
    choice = Choice("substeps", told, reason)
    return replace(
        plan,
        settings=replace(plan.settings, substeps={**plan.settings.substeps, **found}),
        substep_counts=MappingProxyType(counts),
        by_need=(),
    ).with_choice(choice)
