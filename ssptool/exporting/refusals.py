"""Systems and settings that an exported FMU cannot run, refused by name before anything is written."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ssptool.engine.event_mode.master import WithEvents
from ssptool.engine.failure import Unsupported
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.jumps import WithShortStep
from ssptool.engine.masters.program import ProgrammedMaster
from ssptool.engine.ode.master import OdeInCoSimulation
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.exporting.description import type_in
from ssptool.exporting.interface import ExportedVariable

_WITH_RUN = "run it with `ssptool run`"


def export_problems(plan: Plan, variables: Sequence[ExportedVariable], fmi: int = 2) -> tuple[Unsupported, ...]:
    """All that an exported FMU of this version of FMI cannot do."""
    return (*_of_system(plan), *_of_settings(plan), *_of_parts(plan), *_of_variables(variables, fmi))


def refuse_export(plan: Plan, variables: Sequence[ExportedVariable], fmi: int) -> None:
    """
    Raises
    ------
    Unsupported
        For the first thing that an exported FMU cannot do.
    """
    for problem in export_problems(plan, variables, fmi):
        raise problem


def _of_system(plan: Plan) -> Iterator[Unsupported]:
    subject = f"system {plan.name}"
    if plan.stimuli:
        yield Unsupported(
            subject,
            "inputs from tables and scenarios are not supported in an exported FMU",
            "leave them out: the importer drives the inputs of the system",
        )
    if plan.coupled_ode is not None and plan.coupled_ode.events:
        what = "clocks and discrete inputs of model exchange beside co-simulation are not supported in an exported FMU"
        yield Unsupported(subject, what, f"use FMUs that all offer one of them (--implementation), or {_WITH_RUN}")
    if plan.coupled_ode is not None and plan.event_modes:
        what = "event mode of co-simulation beside model exchange is not supported in an exported FMU"
        yield Unsupported(subject, what, f"use FMUs that all offer one of them (--implementation), or {_WITH_RUN}")


def _of_settings(plan: Plan) -> Iterator[Unsupported]:
    settings, master = plan.settings, plan.master
    master = master.base if isinstance(master, OdeInCoSimulation) else master
    master = master.base if isinstance(master, WithShortStep | WithEvents) else master
    subject = "the settings"
    if settings.substeps:
        yield Unsupported(subject, "substeps are not supported in an exported FMU", "leave them out")
    if not (plan.ode is not None and plan.ode.alone) and not isinstance(master, ProgrammedMaster | Iterated):
        yield Unsupported(
            subject,
            f"master {master.name} is not supported in an exported FMU",
            "choose equal steps, with master jacobi, gauss-seidel or iterated",
        )


def _of_parts(plan: Plan) -> Iterator[Unsupported]:
    sources = Counter(one.source for one in plan.instances)
    for one in plan.instances:
        yield from _of_part(one, sources[one.source], _at_events(plan, one))


def _of_part(one: PlannedInstance, uses: int, at_events: Sequence[str]) -> Iterator[Unsupported]:
    subject, description = f"component {one.name}", one.description
    if description.fmi_major == 1:
        yield Unsupported(
            subject, "FMUs of FMI 1.0 are not supported in an exported FMU", "ask for an FMU of FMI 2.0 or 3.0"
        )
    if one.used_interface.once_per_process and uses > 1:
        yield Unsupported(
            subject,
            f"its FMU can be instantiated only once per process, and {uses} components use it",
            "ask for an FMU without canBeInstantiatedOnlyOncePerProcess",
        )
    if "Binary" in at_events:
        yield Unsupported(subject, "Binary variables in event mode are not supported in an exported FMU", _WITH_RUN)


def _at_events(plan: Plan, one: PlannedInstance) -> tuple[str, ...]:
    """Types of what a component exchanges at events only."""
    member = plan.event_modes.members.get(one.name)
    variables = one.description.variables
    exchanged = () if member is None else (*member.inputs, *member.outputs)
    return tuple(variables[clocked.signal.variable].type for clocked in exchanged)


def _of_variables(variables: Sequence[ExportedVariable], fmi: int) -> Iterator[Unsupported]:
    for one in variables:
        if not type_in(fmi, one.type):
            elsewhere = fmi == 2 and type_in(3, one.type)
            yield Unsupported(
                f"variable {one.name}",
                f"variables of type {one.type} are not supported in an exported FMU of FMI {fmi}.0",
                "export it as FMI 3.0 (--fmi 3)" if elsewhere else "do not expose it, or convert it",
            )
