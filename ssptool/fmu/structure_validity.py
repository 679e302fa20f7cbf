"""What FMI demands of the model structure beyond its XML Schema (FMI 2.0.4 §2.2.8, FMI 3.0 §2.4.8)."""

from collections.abc import Iterable, Iterator, Sequence

from ssptool.fmu.stated import StatedVariable
from ssptool.fmu.structure import ModelStructure, Reference, Unknown
from ssptool.fmu.variable_validity import Problem


def structure_problems(
    structure: ModelStructure, variables: Sequence[StatedVariable], refer: Reference
) -> Iterator[Problem]:
    """What is wrong with the model structure of a model description with these variables."""
    own = [variable for variable in variables if variable.name == variable.base]
    for unknowns in structure:
        yield from _wrong_kinds(unknowns)
    outputs = (variable for variable in own if variable.role.causality == "output")
    yield from _incomplete("the outputs", outputs, structure.outputs)
    for unknown in structure.derivatives:
        if unknown.variable.typed.get("derivative") is None:
            message = f'"{unknown.variable.name}" is listed as a state derivative and has no attribute derivative.'
            yield Problem(unknown.line, message)
    yield from _incomplete("the initial unknowns", _expected_initial(structure, own, refer), structure.initial_unknowns)


def _wrong_kinds(unknowns: Iterable[Unknown]) -> Iterator[Problem]:
    for variable, dependencies, kinds, line in unknowns:
        if kinds is not None and dependencies is None:
            yield Problem(line, f'"{variable.name}" has kinds of dependencies, but no dependencies.')
        elif kinds is not None and dependencies is not None and len(kinds) != len(dependencies):
            yield Problem(line, f'"{variable.name}" has {len(dependencies)} dependencies, but kinds of {len(kinds)}.')


def _incomplete(what: str, wanted: Iterable[StatedVariable], listed: Sequence[Unknown]) -> Iterator[Problem]:
    expected, found = {one.name for one in wanted}, {one.variable.name for one in listed}
    missing, surplus = sorted(expected - found), sorted(found - expected)
    line = listed[0].line if listed else 0
    if missing:
        yield Problem(line, f"The model structure lacks among {what}: {', '.join(missing)}.")
    if surplus:
        yield Problem(line, f"The model structure has among {what}, where they do not belong: {', '.join(surplus)}.")


def _expected_initial(
    structure: ModelStructure, variables: Iterable[StatedVariable], refer: Reference
) -> Iterator[StatedVariable]:
    """What an FMU computes in initialization mode."""
    for variable in variables:
        output = variable.role.causality == "output" and variable.node.get("clocks") is None
        if variable.role.causality == "calculatedParameter" or (output and _computed(variable)):
            yield variable
    for unknown in structure.derivatives:
        state = unknown.variable.typed.get("derivative")
        both = () if state is None else (unknown.variable, refer(state, unknown.variable.node))
        yield from filter(_computed, both)


def _computed(variable: StatedVariable) -> bool:
    return variable.role.initial in ("approx", "calculated")
