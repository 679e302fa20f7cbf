"""What FMI demands of model variables beyond its XML Schema (FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7)."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from lxml import etree

from ssptool.fmu.stated import FLOATS, StatedVariable


class Problem(NamedTuple):
    """One thing that is wrong with a model description; `line` is 0 if no line is to blame."""

    line: int
    message: str


def variable_problems(root: etree._Element, variables: Sequence[StatedVariable]) -> Iterator[Problem]:
    """What is wrong with the variables of a model description of this root, one by one and beside each other."""
    major = int(root.get("fmiVersion", "").split(".")[0])
    yield from _repeated_names(variables)
    yield from _illegal_names(root, variables)
    for variable in variables:
        if variable.role.variability == "continuous" and variable.type not in FLOATS:
            yield _of(variable, f"is of type {variable.type} and must not be continuous")
    if major > 1:
        own = [variable for variable in variables if variable.name == variable.base]
        for variable in own:
            yield from _wrong_start(variable)
            yield from _wrong_role(variable)
        yield from _undefined_units(root, own)
    if major > 2:
        yield from _repeated_references(own)
        independent = sum(variable.role.causality == "independent" for variable in own)
        if independent != 1:
            yield Problem(0, f"There must be one independent variable; there are {independent}.")


def _of(variable: StatedVariable, what: str) -> Problem:
    return Problem(variable.line, f'Variable "{variable.name}" {what}.')


def _repeated_names(variables: Sequence[StatedVariable]) -> Iterator[Problem]:
    seen: set[str] = set()
    for variable in variables:
        if variable.name in seen:
            yield _of(variable, "has the name of another one")
        seen.add(variable.name)


def _repeated_references(variables: Sequence[StatedVariable]) -> Iterator[Problem]:
    """FMI 3.0: other names of a variable are its aliases."""
    seen: dict[int, str] = {}
    for variable in variables:
        first = seen.setdefault(variable.reference, variable.name)
        if first != variable.name:
            yield _of(variable, f'has the value reference {variable.reference}, which is that of "{first}"')


def _illegal_names(root: etree._Element, variables: Sequence[StatedVariable]) -> Iterator[Problem]:
    """By the naming convention that the model description states (FMI 2.0.4 §2.2.9, FMI 3.0 §2.4.7.5)."""
    if root.get("variableNamingConvention", "flat") == "structured":
        legal = _structured_name()
        for variable in variables:
            if not legal.fullmatch(variable.name):
                yield _of(variable, "has no legal name by the naming convention that is stated, which is structured")
        return
    for variable in variables:
        if {"\r", "\n", "\t"} & set(variable.name):
            yield _of(variable, "has a tabulator or a line break in its name")


@cache
def _structured_name() -> re.Pattern[str]:
    quoted = r"'(?:[A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]|\\['\"?\\abfnrtv])+'"
    part = rf"(?:[A-Za-z_][A-Za-z0-9_]*|{quoted})(?:\[\d+(?:,\d+)*\])?"
    whole = rf"{part}(?:\.{part})*"
    return re.compile(rf"{whole}|der\({whole}(?:,\d+)?\)")


def _has_start(variable: StatedVariable) -> bool:
    return "start" in variable.typed.attrib or variable.node.find("Start") is not None


def _wrong_start(variable: StatedVariable) -> Iterator[Problem]:
    role, given = variable.role, _has_start(variable)
    needed = role.initial in ("exact", "approx") or role.causality == "input"
    if needed and not given and variable.type != "Clock":
        yield _of(variable, "has no start value")
    if given and role.initial == "calculated":
        yield _of(variable, 'has a start value, which initial="calculated" does not allow')
    if given and role.causality == "independent":
        yield _of(variable, "is the independent one and has a start value")


_CALCULATED = ("approx", "calculated")
_ANY = ("exact", *_CALCULATED)
_CHANGING = ("discrete", "continuous")
_SETTLED = ("fixed", "tunable")


@cache
def _legal_roles() -> frozenset[tuple[str, str, str | None]]:
    """Causality, variability and `initial` that go together (FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.5)."""
    allowed: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str | None, ...]] = {
        (("parameter", "structuralParameter"), _SETTLED): ("exact",),
        (("calculatedParameter", "local"), _SETTLED): _CALCULATED,
        (("input",), _CHANGING): ("exact",),
        (("output", "local"), ("constant",)): ("exact",),
        (("output", "local"), _CHANGING): _ANY,
        (("independent",), ("continuous",)): (None,),
    }
    return frozenset(
        (causality, variability, initial)
        for (causalities, variabilities), initials in allowed.items()
        for causality in causalities
        for variability in variabilities
        for initial in initials
    )


def _wrong_role(variable: StatedVariable) -> Iterator[Problem]:
    causality, variability, initial = role = variable.role.causality, variable.role.variability, variable.role.initial
    if role not in _legal_roles():
        yield _of(variable, f'must not have causality="{causality}", variability="{variability}", initial="{initial}"')


def _undefined_units(root: etree._Element, variables: Sequence[StatedVariable]) -> Iterator[Problem]:
    units = root.iterfind("UnitDefinitions/Unit")
    shown = {one.get("name"): {node.get("name") for node in one.iterfind("DisplayUnit")} for one in units}
    for variable in variables:
        if variable.type not in FLOATS:
            continue
        unit = variable.get("unit")
        if unit is not None and unit not in shown:
            yield _of(variable, f'has the unit "{unit}", which is not defined')
        stated = (variable.typed, *variable.node.iterfind("Alias"))
        for name in {node.get("displayUnit") for node in stated} - {None}:
            if name not in shown.get(unit, ()):
                yield _of(variable, f'has the display unit "{name}", which is not defined for its unit')
