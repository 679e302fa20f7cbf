"""Checks of a model description beyond its schema: names, start values, roles, units and the model structure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set

from lxml import etree

from ssptool.errors import abbreviated
from ssptool.fmu.model_description_xml import source_line
from ssptool.fmu.model_variables import FLOATS, ModelVariables, RawVariable, Unknown
from ssptool.fmu.safe_reading import DescriptionProblem, allowed_variabilities

_NOT_STATED = frozenset({"calculated", "approx"})
"""Values of `initial` for variables whose values the FMU computes."""

_INITIAL: Mapping[str, Set[str]] = {
    "constant": {"exact"},
    "parameter": {"exact"},
    "structuralParameter": {"exact"},
    "input": {"exact"},
    "calculatedParameter": _NOT_STATED,
    "settled": _NOT_STATED,
    "changing": {"exact", *_NOT_STATED},
}
"""Permitted values of `initial`, by causality or kind of variability (FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.5)."""


def inconsistencies(model: ModelVariables, root: etree._Element) -> Iterator[DescriptionProblem]:
    """Problems of a schema-valid model description, ordered by kind."""
    stated = [variable for variable in model.variables if variable.alias_of is None]
    yield from _of_names(model.variables, flat=root.get("variableNamingConvention", "flat") == "flat")
    yield from _of_types(stated)
    if model.major == 1:
        yield from _of_dependencies(root)
        return
    for variable in stated:
        yield from _of_start(variable)
    yield from _of_units(stated, root)
    yield from _of_structure(model, stated)
    if model.major >= 3:
        yield from _of_references(stated)


def _told(variable: RawVariable, what: str) -> DescriptionProblem:
    return DescriptionProblem(variable.line, f'variable "{variable.name}": {what}')


# -- names

# FMI 2.0.4 §2.2.9, FMI 3.0 §2.4.7.5. In a quoted identifier, a quotation mark, a backslash and white space may only
# occur as escapes; as in other readers, they are accepted unescaped.
_QUOTED = r"""'(?:[\w!#$%&()*+,\-./:;<>=?@\[\]^{}|~ "\\\t\n\f\r]|\\')+'"""
_INDICES = r"\[\d+(?:,\d+)*\]"
_PART = rf"(?:[A-Za-z_]\w*|{_QUOTED})(?:{_INDICES})?"
_IDENTIFIER = rf"{_PART}(?:\.{_PART})*"
_STRUCTURED_NAME = re.compile(rf"{_IDENTIFIER}|der\({_IDENTIFIER}(?:,\d+)?\)", re.ASCII)
_BREAKS = {"\r": "a carriage return", "\n": "a line feed", "\t": "a tab"}


def is_structured(name: str) -> bool:
    """True if a variable name follows the naming convention "structured"."""
    return _STRUCTURED_NAME.fullmatch(name) is not None


def _of_names(variables: Iterable[RawVariable], *, flat: bool) -> Iterator[DescriptionProblem]:
    seen: set[str] = set()
    for variable in variables:
        if variable.name in seen:
            yield _told(variable, "another variable has this name")
        seen.add(variable.name)
        if not flat and not is_structured(variable.name):
            yield _told(variable, 'the name does not obey the naming convention "structured"')
        for character, what in _BREAKS.items() if flat else ():
            if character in variable.name:
                yield _told(variable, f"the name contains {what}")


# -- types, start values and roles


def _of_types(variables: Iterable[RawVariable]) -> Iterator[DescriptionProblem]:
    for variable in variables:
        if variable.variability == "continuous" and variable.type not in FLOATS:
            yield _told(variable, f"one of type {variable.type} cannot be continuous")


def _of_start(variable: RawVariable) -> Iterator[DescriptionProblem]:
    causality, initial = variable.causality, variable.initial
    if variable.type != "Clock" and variable.start is None and (initial in ("exact", "approx") or causality == "input"):
        yield _told(variable, "it has no start value")
    if causality == "independent":
        if variable.start:
            yield _told(variable, "the independent variable has no start value of its own")
        if initial is not None:
            yield _told(variable, f'the independent variable cannot have initial="{initial}"')
        return
    if variable.variability in allowed_variabilities(causality) and initial not in _initial(variable):
        combination = f'causality="{causality}", variability="{variable.variability}" and initial="{initial}"'
        yield _told(variable, f"{combination} is not a combination of FMI")
    if initial == "calculated" and variable.start:
        yield _told(variable, 'it has initial="calculated", and a start value all the same')


def _initial(variable: RawVariable) -> Set[str]:
    kind = "settled" if variable.variability in ("fixed", "tunable") else "changing"
    return _INITIAL.get(variable.causality) or _INITIAL.get(variable.variability) or _INITIAL[kind]


def _of_units(variables: Iterable[RawVariable], root: etree._Element) -> Iterator[DescriptionProblem]:
    units = {
        node.get("name"): {one.get("name") for one in node.iterfind("DisplayUnit")}
        for node in root.iterfind("UnitDefinitions/Unit")
    }
    for variable in variables:
        unit = variable.unit or (None if variable.declared is None else variable.declared.unit)
        if unit is not None and unit not in units:
            yield _told(variable, f'the unit "{unit}" is not defined')
        shown = [
            (variable.display_unit, ""),
            *((one.display_unit, f' of alias "{one.name}"') for one in variable.aliases),
        ]
        for name, of_alias in shown:
            if name is not None and name not in units.get(unit, ()):
                yield _told(variable, f'the displayUnit "{name}"{of_alias} is not defined for the unit "{unit}"')


def _of_references(variables: Iterable[RawVariable]) -> Iterator[DescriptionProblem]:
    """Check FMI 3.0 §2.4.7: one independent variable, and one variable for each reference."""
    independent = sum(variable.causality == "independent" for variable in variables)
    if independent != 1:
        yield DescriptionProblem(0, f"there are {independent} independent variables, and must be one")
    first: dict[int, RawVariable] = {}
    for variable in variables:
        other = first.setdefault(variable.reference, variable)
        if other is not variable:
            yield _told(variable, f'it has the valueReference {variable.reference} of variable "{other.name}"')


# -- model structure


def _of_structure(model: ModelVariables, variables: Iterable[RawVariable]) -> Iterator[DescriptionProblem]:
    """Check the model structure (FMI 2.0.4 §2.2.8, FMI 3.0 §2.4.8)."""
    outputs, derivatives, unknowns = "Output", "ContinuousStateDerivative", "InitialUnknown"
    if model.major == 2:
        outputs, derivatives, unknowns = "Outputs", "Derivatives", "InitialUnknowns"
    entries = {
        outputs: model.outputs,
        derivatives: model.derivatives,
        "ClockedState": model.clocked_states,
        "EventIndicator": model.event_indicators,
        unknowns: model.initial_unknowns,
    }
    for element, found in entries.items():
        for one in found:
            yield from _of_kinds(element, one)
    yield from _of_entries(outputs, model.outputs, [one for one in variables if one.causality == "output"])
    for one in model.derivatives:
        if one.variable.state is None:
            told = f'{derivatives}: variable "{one.variable.name}" has no attribute derivative, which names its state'
            yield DescriptionProblem(one.line, told)
    yield from _of_entries(unknowns, model.initial_unknowns, _computed_at_start(model, variables))


def _of_kinds(element: str, entry: Unknown) -> Iterator[DescriptionProblem]:
    if entry.kinds is None:
        return
    place = f'{element}: variable "{entry.variable.name}" has'
    if entry.dependencies is None:
        yield DescriptionProblem(entry.line, f"{place} dependenciesKind without dependencies")
    elif len(entry.dependencies) != len(entry.kinds):
        counts = f"{len(entry.dependencies)} dependencies and {len(entry.kinds)} kinds of them"
        yield DescriptionProblem(entry.line, f"{place} {counts}")


def _of_entries(
    element: str, entries: Iterable[Unknown], wanted: Iterable[RawVariable]
) -> Iterator[DescriptionProblem]:
    """Compare the variables in the model structure with those that must be in it."""
    found, expected = Counter(one.variable.name for one in entries), {one.name for one in wanted}
    missing, surplus = sorted(expected - found.keys()), sorted(found.keys() - expected)
    twice = sorted(name for name, count in found.items() if count > 1)
    told = [f"lacks {abbreviated(missing)}"] if missing else []
    told += [f"must not list {abbreviated(surplus)}"] if surplus else []
    told += [f"lists {abbreviated(twice)} more than once"] if twice else []
    if told:
        yield DescriptionProblem(0, f"ModelStructure/{element} {' and '.join(told)}")


def _computed_at_start(model: ModelVariables, variables: Iterable[RawVariable]) -> Iterator[RawVariable]:
    """Calculated parameters; and outputs, states and their derivatives, if the FMU computes them at the start."""
    for variable in variables:
        computed = variable.causality == "output" and variable.initial in _NOT_STATED and not variable.clocks
        if computed or variable.causality == "calculatedParameter":
            yield variable
    for one in model.derivatives:
        for variable in filter(None, (one.variable.state, one.variable)):
            if variable.initial in _NOT_STATED:
                yield variable


# -- FMI 1.0


def _of_dependencies(root: etree._Element) -> Iterator[DescriptionProblem]:
    """Check direct dependencies (FMI 1.0 for Co-Simulation §3, Model Exchange §3)."""
    variables = {node.get("name", ""): node for node in root.iterfind("ModelVariables/*")}
    for name, node in variables.items():
        stated = node.find("DirectDependency")
        if stated is None:
            continue
        if node.get("causality") != "output":
            told = f'variable "{name}": it has a DirectDependency, and is not an output'
            yield DescriptionProblem(source_line(stated), told)
        for one in stated.iterfind("Name"):
            known = variables.get((one.text or "").strip())
            if known is None or known.get("causality") != "input":
                told = f'variable "{name}": its DirectDependency "{one.text}" is not an input'
                yield DescriptionProblem(source_line(one), told)
