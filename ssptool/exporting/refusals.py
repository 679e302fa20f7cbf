"""Systems and settings that an exported FMU does not support, reported before anything is written."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ssptool.engine.assembly.instances import disturbance
from ssptool.engine.failure import Unsupported
from ssptool.engine.masters.program import ProgrammedMaster
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.run.freeze import is_newton, stepping_master
from ssptool.engine.stimuli.time_signals import Constant, Overridden, Table
from ssptool.exporting.clocks import clock_problems
from ssptool.exporting.description import type_in
from ssptool.exporting.interface import ExportedVariable
from ssptool.network.conversion import narrowing

_WITH_RUN = "run it with `ssptool run`"


def export_problems(plan: Plan, variables: Sequence[ExportedVariable], fmi: int = 2) -> tuple[Unsupported, ...]:
    """All unsupported features of an exported FMU of this version of FMI."""
    return (*_of_plan(plan), *_of_variables(variables, fmi))


def _of_plan(plan: Plan) -> Iterator[Unsupported]:
    yield from _of_stimuli(plan)
    yield from clock_problems(plan)
    yield from _of_settings(plan)
    yield from _of_parts(plan)
    for wire in plan.wires:
        source, destination = (plan.types[slot] for slot in (wire.source, wire.destination))
        if narrowing(source, destination):
            what = f"a connection from type {source} to type {destination} is not supported in an exported FMU"
            yield Unsupported(
                f"connection {plan.signals[wire.source]} → {plan.signals[wire.destination]}", what, _WITH_RUN
            )


def plan_to_export(plan: Plan) -> Plan:
    """The plan; or the plan of co-simulation, if model exchange is only the default and an exported FMU does not
    support it.
    """
    if plan.instead is None or (problem := next(_of_plan(plan), None)) is None:
        return plan
    return plan.instead(f"not possible as model exchange: {problem}")


def refuse_export(plan: Plan, variables: Sequence[ExportedVariable], fmi: int) -> None:
    """Raises
    ------
    Unsupported
        The first unsupported feature.
    """
    for problem in export_problems(plan, variables, fmi):
        raise problem


def _of_stimuli(plan: Plan) -> Iterator[Unsupported]:
    advice = "leave them out: the importer drives the inputs of the system"
    stimuli, subject = plan.stimuli, f"system {plan.name}"
    for source in stimuli.sources:
        if not isinstance(source.time_signal, Table | Constant | Overridden):
            yield Unsupported(
                f"input {source.signal}", "functions as inputs are not supported in an exported FMU", advice
            )
    if stimuli and (plan.ode is not None or plan.event_modes):
        what = (
            "tables as inputs, with components of model exchange or in event mode, are not supported in an exported FMU"
        )
        yield Unsupported(subject, what, advice)
    overridden = any(isinstance(source.time_signal, Overridden) for source in stimuli.sources)
    if overridden or stimuli.connections or stimuli.parameter_changes:
        yield Unsupported(subject, "scenarios are not supported in an exported FMU", advice)


def _of_settings(plan: Plan) -> Iterator[Unsupported]:
    master = stepping_master(plan)
    subject = "the settings"
    for name in plan.by_need:
        yield Unsupported(
            subject,
            f"substeps of {name} by need, which are found at the start of a run, are not supported in an exported FMU",
            "state the number that a run finds, and writes to its manifest",
        )
    if plan.substep_counts and plan.event_modes.members:
        yield Unsupported(
            subject, "substeps, with components in event mode, are not supported in an exported FMU", "leave them out"
        )
    if plan.settings.threads > 1 or plan.settings.processes is not None:
        yield Unsupported(
            subject,
            "threads and processes are not supported in an exported FMU",
            "leave them out: all parts are in the process of the importer, in the thread that calls the FMU",
        )
    if not plan.is_one_ode and not isinstance(master, ProgrammedMaster):
        yield Unsupported(
            subject,
            f"master {master.name} is not supported in an exported FMU",
            "choose a fixed step size, with master jacobi, gauss-seidel or iterated",
        )
    elif not plan.is_one_ode and is_newton(master):
        yield Unsupported(
            subject,
            f"master {master.name} with this acceleration is not supported in an exported FMU",
            "choose another acceleration than newton",
        )


def _of_parts(plan: Plan) -> Iterator[Unsupported]:
    for number, one in enumerate(plan.instances):
        subject = f"component {one.name}"
        if reason := disturbance(one, plan.instances[:number]):
            yield Unsupported(subject, f"{reason}, and all parts of an exported FMU are in one process", _WITH_RUN)
        if "Binary" in _at_events(plan, one):
            yield Unsupported(subject, "Binary variables in event mode are not supported in an exported FMU", _WITH_RUN)


def _at_events(plan: Plan, one: PlannedInstance) -> tuple[str, ...]:
    """Types of the variables that a component exchanges only at events."""
    member = plan.event_modes.members.get(one.name)
    variables = one.description.variables
    exchanged = () if member is None else (*member.inputs, *member.outputs)
    return tuple(variables[clocked.signal.variable].type for clocked in exchanged)


def _of_variables(variables: Sequence[ExportedVariable], fmi: int) -> Iterator[Unsupported]:
    yield from _of_names(variables)
    for one in variables:
        if not type_in(fmi, one.type):
            elsewhere = fmi == 2 and type_in(3, one.type)
            yield Unsupported(
                f"variable {one.name}",
                f"variables of type {one.type} are not supported in an exported FMU of FMI {fmi}.0",
                "export it as FMI 3.0 (--fmi 3)" if elsewhere else "do not expose it, or convert it",
            )


def _of_names(variables: Sequence[ExportedVariable]) -> Iterator[Unsupported]:
    """Problems of names, which FMI requires to be unique and on one line."""
    for name, uses in Counter(one.name for one in variables).items():
        if uses > 1:
            yield Unsupported(
                f"variable {name}",
                f"{uses} variables of an exported FMU would have this name",
                "rename the connector of the system, or do not expose the variable of the component",
            )
        if found := _NOT_IN_NAMES.search(name):
            yield Unsupported(
                f"variable {name!r}",
                f"FMI does not allow the character {found[0]!r} in names",
                "rename the component or the connector",
            )


_NOT_IN_NAMES = re.compile(r"[\n\r\t]")
