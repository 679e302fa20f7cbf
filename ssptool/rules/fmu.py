"""Rules on FMUs: components against their variables, and FMUs themselves against FMI and this platform."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ssptool.documents import ssc, ssd
from ssptool.documents.diagnostics import Position, Severity
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.documents.storage import NESTING_MARK
from ssptool.errors import UnusableFile, abbreviated, counted
from ssptool.fmu.description import (
    Causality,
    FmuDescription,
    Interface,
    InterfaceType,
    UnreadableFmu,
    Variability,
    Variable,
    fixed_shape,
    unsupported_of_fmi1,
)
from ssptool.fmu.model_description_xml import BINARIES, MODEL_DESCRIPTION, this_platform
from ssptool.fmu.terminals import TERMINALS
from ssptool.fmu.units import named, stated_or_own
from ssptool.network.conversion import Relation, canonical, convertible, relation
from ssptool.network.graph_algorithms import cyclic_components
from ssptool.rules.bindings import uses
from ssptool.rules.catalogue import (
    DERIVED,
    ERROR,
    INFO,
    MUST,
    POLICY,
    TEXT,
    WARNING,
    XSD,
    Chapter,
    Finding,
    deleted,
    near,
    rewritten,
)
from ssptool.rules.fmu_files import FmuFile
from ssptool.rules.links import (
    Declared,
    StatedConnectors,
    Statement,
    connections,
    declared,
    declared_as,
    signal_flow,
    stated_by,
    stated_connectors,
)
from ssptool.rules.subjects import (
    Reach,
    Structure,
    around,
    first,
    found_once,
    full_name,
    is_fmu,
    once_per_source,
    remembered,
)
from ssptool.work_in_progress import one_by_one

FMU_COMPONENTS = Chapter("Components against their FMUs (SSP 2.0 §4.5, §5.2.1, §5.4)", section="SSP 2.0 §5.2.1")


class Pair(NamedTuple):
    """Connectors with the variable that they name: all connectors of components of one FMU with equal attributes.

    `places` are their numbers in components with equal connectors.
    """

    says: Statement
    variable: Variable
    fmu: FmuDescription
    structure: Structure
    places: list[tuple[list[ssd.Component], int]]

    @property
    def connectors(self) -> Iterator[ssd.Connector]:
        for components, number in self.places:
            for component in components:
                yield declared(component, self.structure)[number].connector


@FMU_COMPONENTS.rule("FMU-001", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.4; FMI 3.0 §2.5", blocks_run=True)
def readable_fmu(structure: Structure) -> Iterator[Finding]:
    """The FMU of a component is a readable archive with a model description.

    Fix: export or copy the FMU again.
    """
    return once_per_source(structure, _unreadable)


def _unreadable(component: ssd.Component, structure: Structure) -> Iterator[tuple[str, str]]:
    reference = structure.reference(component, component.source or "")
    if is_fmu(component) and reference.reach is Reach.INSIDE:
        description = structure.fmus.get(reference.entry)
        if isinstance(description, UnreadableFmu):
            yield f"{reference.entry}: {description.reason}", "export or copy it again"


@FMU_COMPONENTS.rule("FMU-002", severity=ERROR, basis=MUST)
def known_variables(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The connector of an FMU has the name of one of its variables.

    A Binary connector of an FMI 1.0 or 2.0 FMU stands for a group of variables, as layered standards define it. A
    parameter connector that nothing connects or sets, as some exporters write them, is a warning.

    Fix: correct the name; `ssptool info` lists the variables. Delete a connector that nothing uses.

    Accepted: the connector and its connections are left out.
    """
    description = structure.fmu_of(component)
    if description is not None:
        for connector, name, says in _unpaired(component, structure):
            grouped = says.type_name == "Binary" and description.fmi_major < 3
            if not grouped and not _group(name, says, description):
                message = f"the FMU of '{component.name}' has no variable '{name}'"
                needless = _is_needless(name, says, component, structure)
                yield _lacking(connector, message, near(name, description.variables), needless)


@FMU_COMPONENTS.rule("FMU-003", severity=ERROR, basis=MUST)
def single_variables(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The connector of an FMU names one variable, not a group of them such as `vec` for `vec[1]`, `vec[2]`.

    Fix: declare one connector for each variable.

    Accepted: the connector and its connections are left out.
    """
    description = structure.fmu_of(component)
    if description is not None:
        for connector, name, says in _unpaired(component, structure):
            members = _group(name, says, description)
            if members:
                message = f"'{name}' is a group of {len(members)} variables, not a variable"
                yield Finding(connector, message, f"connect {', '.join(members[:3])} …", "name")


@FMU_COMPONENTS.rule("FMU-004", severity=ERROR, basis=MUST)
def fitting_kinds(structure: Structure) -> Iterator[Finding]:
    """The kind of a connector is the causality of the variable.

    An output of the FMU cannot be declared as input: nobody could set it. (The kind `constant` stands for outputs and
    locals of variability constant; FMI 1.0 has fewer causalities, and more is accepted there.)

    Fix: correct the kind.

    Accepted: the value is exchanged as the connector says; an input that the FMU calculates still ends the run.
    """
    for pair in _pairs(structure):
        kind, variable = pair.says.kind, pair.variable
        if kind in (Kind.UNSPECIFIED, Kind.INOUT) or variable.causality is Causality.INDEPENDENT:
            continue
        if not _fits(kind, variable, pair.fmu):
            message = f"the connector is {kind}, the variable {variable.causality} ({variable.variability})"
            right = _kind_of(variable)
            hint = "delete the connector" if right is None else f'write kind="{right}"'
            for connector in pair.connectors:
                fix = None if right is None else rewritten(connector, "kind", right, safe=False)
                yield Finding(connector, message, hint, "kind", fix=fix)


@FMU_COMPONENTS.rule("FMU-005", severity=ERROR, basis=XSD, source="SSP 2.0, schema documentation of Connector")
def same_types(structure: Structure) -> Iterator[Finding]:
    """The type that a connector states is that of the variable.

    Real and Float64 are the same, so are Integer and Int32. It is a warning if every value of the one type is one of
    the other, as with a Real connector for an Int32 output.

    Fix: state the type of the variable, or none.

    Accepted: the type of the variable counts.
    """
    for pair in _pairs(structure):
        stated = pair.says.type_name
        grouped = stated == "Binary" and pair.fmu.fmi_major < 3
        if stated is not None and canonical(stated) != pair.variable.type and not grouped:
            message = f"the connector is {stated}, the variable '{pair.variable.name}' is {pair.variable.type}"
            exact = _is_exact(pair, stated)
            for connector in pair.connectors:
                own, advice = connector.type, "state the type of the variable, or none"
                fix = deleted(own, safe=not own.attrib) if exact and own is not None else None
                yield Finding(connector, message, advice, severity=WARNING if exact else None, fix=fix)


@FMU_COMPONENTS.rule("FMU-006", severity=WARNING, basis=DERIVED, source="SSP 2.0 §4.5.1")
def same_quantities(structure: Structure) -> Iterator[Finding]:
    """The units of a connector and of its variable measure the same quantity.

    Otherwise values cannot be converted between the connector and the FMU (an error). It is a warning if the FMU does
    not define its unit, or if the document and the FMU define the same unit name differently.

    Fix: correct the unit, or its definition.

    Accepted: the value passes between connector and variable unchanged, without conversion.
    """
    for pair in _pairs(structure):
        own = named(pair.fmu.units, pair.variable.unit)
        stated = stated_or_own(structure.unit(structure.root, pair.says.unit), own)
        if stated is None or own is None or pair.says.unit is None:
            continue
        if not convertible(stated, own):
            message = f"the connector is in '{stated.name}', the variable in '{own.name}'"
            severity = ERROR if own.defined else WARNING
            yield from _everywhere(pair, message, "these units cannot be converted", severity)
        elif stated.name == own.name and own.defined and stated != own:
            yield from _everywhere(pair, f"the FMU defines the unit '{own.name}' in another way")


@FMU_COMPONENTS.rule("FMU-007", severity=ERROR, basis=DERIVED, source="SSP 2.0 §4.5.3", versions=["2.0"])
def same_shapes(structure: Structure) -> Iterator[Finding]:
    """A connector has as many dimensions as the variable, of the same sizes where both are known.

    A size that a structural parameter gives is unknown until the parameter has a value.

    Fix: add a `Dimension` for each one of the variable.

    Accepted: the dimensions of the variable count.
    """
    for pair in _pairs(structure):
        if pair.fmu.fmi_major >= 3:
            stated, own = pair.says.sizes, fixed_shape(pair.variable)
            differ = any(a != b for a, b in zip(stated, own, strict=False) if a is not None and b is not None)
            if len(stated) != len(own) or differ:
                sizes = " × ".join("?" if size is None else str(size) for size in own) or "a scalar"
                yield from _everywhere(pair, f"the connector has {len(stated)} dimensions, the variable is {sizes}")


@FMU_COMPONENTS.rule("FMU-008", severity=WARNING, basis=DERIVED, source="SSP 2.0 §4.4.1")
def same_items(structure: Structure) -> Iterator[Finding]:
    """The enumeration of a connector has the items that the FMU's type has.

    Fix: copy the items from the model description.
    """
    for pair in _pairs(structure):
        own = pair.variable.items
        if not isinstance(pair.says.type, ssc.Enumeration) or not own:
            continue
        stated = stated_by(pair.says, structure).items
        if stated is not None and dict(stated) != dict(own):
            items = ", ".join(f"{name}={value}" for name, value in own.items())
            yield from _everywhere(pair, f"the FMU's items are {items}")


@FMU_COMPONENTS.rule("FMU-010", severity=ERROR, basis=DERIVED, blocks_run=True)
def time_is_no_connector(structure: Structure) -> Iterator[Finding]:
    """The independent variable of an FMU, the time, is not a connector.

    The master algorithm sets it.

    Fix: delete the connector.
    """
    for pair in _pairs(structure):
        if pair.variable.causality is Causality.INDEPENDENT:
            for connector in pair.connectors:
                yield Finding(connector, f"'{pair.variable.name}' is the independent variable", "", "name")


@FMU_COMPONENTS.rule("FMU-009", severity=WARNING, basis=DERIVED, source="SSP 2.0 §4.5.1, §5.2.1", versions=["2.0"])
def same_clocks(structure: Structure) -> Iterator[Finding]:
    """A connector has the clocks of its variable, and a clock has the attributes that the FMU states.

    A clock is never an array.

    Fix: copy the names and attributes from the model description.
    """
    for pair in _pairs(structure):
        stated = pair.says.clocks
        if stated and stated != set(pair.variable.clocks):
            found = ", ".join(pair.variable.clocks) or "none"
            yield from _everywhere(pair, f"the clocks of the variable are: {found}")
        if isinstance(pair.says.type, ssc.Clock) and pair.variable.type == "Clock":
            for connector in pair.connectors:
                yield from _compared(first(connector, ssc.Clock), dict(pair.variable.clock))
            if pair.says.sizes:
                yield from _everywhere(pair, "a clock is not an array", "delete the Dimension")


@FMU_COMPONENTS.rule("FMU-011", severity=ERROR, basis=TEXT, source="SSP 2.0 §4.5.1")
def known_binaries(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """A Binary connector of an FMU of FMI 1.0 or 2.0 is a binary variable by the conventions of OSMP.

    These versions of FMI have no binary variables; in OSMP a group of three Integers stands for one. A parameter
    connector that nothing connects or sets is a warning.

    Fix: connect the variables of the FMU, or export it as FMI 3.0. Delete a connector that nothing uses.

    Accepted: the connector and its connections are left out.
    """
    description = structure.fmu_of(component)
    if description is not None and description.fmi_major < 3:
        binary = declared_as(component, structure, lambda says: isinstance(says.type, ssc.Binary))
        for connector, name, says in binary:
            if name not in description.binaries:
                message = f"the FMU is of FMI {description.fmi_version} and has no binary variable '{name}'"
                needless = _is_needless(name, says, component, structure)
                yield _lacking(connector, message, near(name, description.binaries), needless)


@FMU_COMPONENTS.rule(
    "FMU-013", severity=ERROR, basis=DERIVED, source="SSP 2.0 §4.5.3; FMI 3.0 §2.4.7.5", versions=["2.0"]
)
def same_sizes(structure: Structure) -> Iterator[Finding]:
    """The `sizeConnector` of a dimension is the structural parameter that gives its size in the FMU.

    Fix: name that structural parameter.

    Accepted: the structural parameter of the FMU counts.
    """
    for pair in _pairs(structure):
        both = zip(pair.says.size_connectors, pair.variable.sizes, strict=False)
        for number, (stated, own) in enumerate(both):
            if stated is not None and stated != own:
                found = "the size is fixed" if own is None else f"the size is '{own}'"
                for connector in pair.connectors:
                    yield Finding(connector.dimensions[number], f"{found} in the FMU", "", "sizeConnector")


@FMU_COMPONENTS.rule("FMU-012", severity=INFO, basis=POLICY, source="SSP 2.0 §2.2.1", versions=["1.0"])
def fmi3_in_ssp1(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """An SSP 1.0 file describes FMUs of FMI 1.0 and 2.0; FMI 3.0 came with SSP 2.0.

    Tools accept the mixture, but SSP 1.0 cannot express the new types and causalities.

    Fix: declare version 2.0.
    """
    description = structure.fmu_of(component)
    if description is not None and description.fmi_major >= 3:
        message = f"the FMU is of FMI {description.fmi_version}, the file of SSP 1.0"
        yield Finding(component, message, 'write version="2.0"', "source")


def _compared(clock: ssc.Clock | None, own: dict[str, str]) -> Iterator[Finding]:
    for name in () if clock is None else sorted(own.keys() & set(map(str, clock.attrib))):
        if clock is not None and not _same_text(clock.get(name, ""), own[name]):
            yield Finding(clock, f"{name} is {clock.get(name)}, but {own[name]} in the FMU", "", name)


def _same_text(stated: str, own: str) -> bool:
    """True if two texts of an attribute have the same value, such as `1` and `1.0`, or `1` and `true`."""
    words = {"true": "1", "false": "0"}
    stated, own = words.get(stated.strip(), stated.strip()), words.get(own.strip(), own.strip())
    try:
        return stated == own or float(stated) == float(own)
    except ValueError:
        return False


@found_once
def _pairs(structure: Structure) -> tuple[Pair, ...]:
    """The connectors that name a variable of their component's FMU."""
    found: dict[tuple[Statement, int, str], Pair] = {}
    alike: dict[tuple[StatedConnectors, int], list[ssd.Component]] = {}
    for component in structure.all(ssd.Component):
        fmu = structure.fmu_of(component)
        if fmu is None:
            continue
        connectors = stated_connectors(component, structure)
        components = alike.setdefault((connectors, id(fmu)), [])
        components.append(component)
        for number, (name, says) in enumerate(connectors.connectors) if len(components) == 1 else ():
            if name in fmu.variables:
                pair = Pair(says, fmu.variables[name], fmu, structure, [])
                found.setdefault((says, id(fmu), name), pair).places.append((components, number))
    return tuple(found.values())


@remembered
def _unpaired(component: ssd.Component, structure: Structure) -> tuple[Declared, ...]:
    """The connectors without a variable in the component's FMU."""
    fmu = structure.fmu_of(component)
    if fmu is None or stated_connectors(component, structure).names <= fmu.variables.keys():
        return ()
    return tuple(one for one in declared(component, structure) if one.name not in fmu.variables)


_PARAMETERS = frozenset({Kind.PARAMETER, Kind.STRUCTURAL_PARAMETER, Kind.CALCULATED_PARAMETER, Kind.CONSTANT})


def _is_needless(name: str, says: Statement, component: ssd.Component, structure: Structure) -> bool:
    """True for the connector of a parameter that nothing connects or sets."""
    return says.kind in _PARAMETERS and name not in _used(component, structure)


def _lacking(connector: ssd.Connector, message: str, advice: str, needless: bool) -> Finding:
    """Finding on a connector without a counterpart in the FMU."""
    if not needless:
        return Finding(connector, message, advice, "name")
    told = f"{message}; nothing connects or sets this parameter, so it is left out"
    return Finding(connector, told, "delete the connector", "name", WARNING, deleted(connector))


@remembered
def _used(component: ssd.Component, structure: Structure) -> frozenset[str]:
    """Names of a component's connectors that are connected, or get values from parameter sets."""
    found = {
        end.connector
        for system in around(component, ssd.System)
        for stated in connections(system, structure)
        for end in (stated.start, stated.end)
        if end.element == component.name
    }
    for use in uses(structure):
        if use.addressed is component:
            found.add(use.rest)
        elif use.owner is component:
            found.add(use.name)
        found.update(target.name for target in use.targets if target.element is component)
    return frozenset(found)


def _is_exact(pair: Pair, stated: str) -> bool:
    """True if values pass the connector without loss although its type differs from that of the variable."""
    types = (stated, pair.variable.type) if pair.says.kind is Kind.INPUT else (pair.variable.type, stated)
    return pair.says.kind in (Kind.INPUT, Kind.OUTPUT) and relation(*types) is Relation.WIDENING


def _everywhere(pair: Pair, message: str, advice: str = "", severity: Severity | None = None) -> Iterator[Finding]:
    """Report a finding at each connector of a pair."""
    for connector in pair.connectors:
        yield Finding(connector, message, advice, severity=severity)


def _group(own: str, says: Statement, description: FmuDescription) -> list[str]:
    """Variables whose structured names start with this name, which is not itself a variable."""
    if not own or isinstance(says.type, ssc.Binary):
        return []
    starts = (own + "[", own + ".")
    return [name for name in description.variables if name.startswith(starts)]


_CAUSALITIES = {
    Kind.INPUT: Causality.INPUT,
    Kind.OUTPUT: Causality.OUTPUT,
    Kind.PARAMETER: Causality.PARAMETER,
    Kind.CALCULATED_PARAMETER: Causality.CALCULATED_PARAMETER,
    Kind.STRUCTURAL_PARAMETER: Causality.STRUCTURAL_PARAMETER,
    Kind.LOCAL: Causality.LOCAL,
}
# FMI 1.0 expresses parameters by variability, with other causalities: calculated parameters may be outputs, and
# internal ones look like parameters that can be set.
_MORE_OF_FMI1 = {
    Kind.PARAMETER: {(Causality.LOCAL, Variability.FIXED)},
    Kind.OUTPUT: {(Causality.CALCULATED_PARAMETER, Variability.FIXED)},
    Kind.LOCAL: {(Causality.PARAMETER, Variability.FIXED)},
}


def _fits(kind: Kind, variable: Variable, fmu: FmuDescription) -> bool:
    if kind is Kind.CONSTANT:
        shown = variable.causality in (Causality.OUTPUT, Causality.LOCAL)
        return shown and variable.variability is Variability.CONSTANT
    if fmu.fmi_major == 1 and (variable.causality, variable.variability) in _MORE_OF_FMI1.get(kind, ()):
        return True
    return variable.causality is _CAUSALITIES[kind]


def _kind_of(variable: Variable) -> Kind | None:
    """The kind for a causality; None for `none` of FMI 1.0."""
    return next((kind for kind, causality in _CAUSALITIES.items() if causality is variable.causality), None)


FMUS = Chapter("FMUs: validity, and support on this machine (FMI 1.0, FMI 2.0, FMI 3.0)")

MOST_SHOWN = 20
"""Largest number of problems of one FMU that are shown; the others are counted."""


@FMUS.rule("FMU-101", severity=WARNING, basis=DERIVED, source="FMI 2.0.4 §2.2, FMI 3.0 §2.4")
def valid_descriptions(structure: Structure) -> Iterator[Finding]:
    """The model description of an FMU satisfies its schema, and FMI's rules on variables and structure.

    ssptool uses such an FMU: a value that can only mean one thing is read as that (`start="1,5"` as 1.5, `True` as
    true), an entry that refers to nothing is omitted, and the finding states the assumption. Results may still be wrong
    if, for example, a start value or a dependency is missing or wrong.

    Fix: export the FMU again with a newer version of the tool, or with another tool.
    """
    for entry, fmu in one_by_one("checking FMU", list(structure.fmu_files.items())):
        if isinstance(fmu.description, FmuDescription):
            file = f"{entry}{NESTING_MARK}{MODEL_DESCRIPTION}"
            for problem in fmu.problems[:MOST_SHOWN]:
                yield Finding(Position(file, problem.line), problem.message)
            if len(fmu.problems) > MOST_SHOWN:
                yield Finding(Position(file), f"there are {len(fmu.problems) - MOST_SHOWN} more problems")


@FMUS.rule("FMU-102", severity=WARNING, basis=POLICY, source="FMI 2.0.4 §2.3, FMI 3.0 §2.5")
def binary_for_this_machine(structure: Structure) -> Iterator[Finding]:
    """The FMU of a component has a binary for the machine that runs ssptool.

    The system may run on another machine, but not on this one.

    Fix: export the FMU for this platform as well; or use `--ignore FMU-102` if the system is only checked.
    """
    return once_per_source(structure, _no_binary)


def _no_binary(component: ssd.Component, structure: Structure) -> Iterator[tuple[str, str]]:
    for fmu, description, offered in _offered(component, structure):
        there = frozenset().union(*(fmu.platforms[kind] for kind in offered))
        here = this_platform(description.fmi_major, {f"{BINARIES}{platform}/" for platform in there})
        if here not in there:
            others = ", ".join(sorted(there)) or "no binaries at all"
            yield f"the FMU has no binary for {here}", f"it has {others}"


@FMUS.rule("FMU-108", severity=WARNING, basis=DERIVED, source="FMI 2.0.4 §2.3, FMI 3.0 §2.5.1.3")
def named_library(structure: Structure) -> Iterator[Finding]:
    """The library of an FMU has the name of its model identifier.

    ssptool uses a library of another name where it is the only one for the platform; other tools refuse such an FMU.

    Fix: export the FMU again, or rename the library.
    """
    return once_per_source(structure, _misnamed_library)


def _misnamed_library(component: ssd.Component, structure: Structure) -> Iterator[tuple[str, str]]:
    for fmu, _, offered in _offered(component, structure):
        for wanted, found in sorted({fmu.misnamed[kind] for kind in offered if kind in fmu.misnamed}):
            folder, _, name = wanted.rpartition("/")
            message = f"the library in {folder} must be called {name}; found {found.rpartition('/')[2]}"
            yield message, "export the FMU again, or rename the library"


@FMUS.rule("FMU-103", severity=INFO, basis=POLICY, source="FMI 2.0.4 §4.3.1, FMI 3.0 §2.4.8")
def self_contained(structure: Structure) -> Iterator[Finding]:
    """An FMU needs no other tool to be installed.

    Fix: install the tool by which it was exported; or export it without `needsExecutionTool`.
    """
    return once_per_source(structure, _needs_tool)


def _needs_tool(component: ssd.Component, structure: Structure) -> Iterator[tuple[str, str]]:
    for _, _, offered in _offered(component, structure):
        if all(interface.needs_tool for interface in offered.values()):
            yield "the FMU works only on machines with the tool that exported it", ""


@FMUS.rule("FMU-104", severity=WARNING, basis=DERIVED, source="FMI 3.0 §2.4.9")
def valid_terminals(structure: Structure) -> Iterator[Finding]:
    """The terminals of an FMU can be read, and their members are variables of the FMU.

    `ssptool connect` connects terminals member by member.

    Fix: export the FMU again.
    """
    for entry, fmu in structure.fmu_files.items():
        description = fmu.description
        if not isinstance(description, FmuDescription):
            continue
        file = Position(f"{entry}{NESTING_MARK}{TERMINALS}")
        if isinstance(fmu.terminals, UnusableFile):
            yield Finding(file, fmu.terminals.reason)
            continue
        for terminal in fmu.terminals.values():
            for member in terminal.members:
                if member.variable not in description.variables:
                    message = f"the member '{member.name}' of '{terminal.name}' is the variable '{member.variable}'"
                    yield Finding(file, message + ", which there is not", near(member.variable, description.variables))


@FMUS.rule("FMU-105", severity=INFO, basis=POLICY, source="ssptool")
def runnable(structure: Structure) -> Iterator[Finding]:
    """A component is an FMU that ssptool can run, for co-simulation or model exchange.

    ssptool runs no model exchange and no tool coupling (CoSimulation_Tool) of FMI 1.0, and no scheduled execution of
    FMI 3.0. A system with such a component can be validated and edited, but `ssptool run` refuses it.

    Fix: export the component as such an FMU.
    """
    return once_per_source(structure, _not_run)


def _not_run(component: ssd.Component, structure: Structure) -> Iterator[tuple[str, str]]:
    description = structure.fmu_of(component)
    if description is None:
        return
    if unsupported := unsupported_of_fmi1(description):
        yield f"the FMU offers {unsupported} only, which ssptool does not run", ""
    elif not any(description.interface(kind) for kind in InterfaceType):
        yield "the FMU offers scheduled execution only, which ssptool does not run", ""


@FMUS.rule("FMU-106", severity=INFO, basis=POLICY, source="FMI 2.0.4 §4.3.1, FMI 3.0 §2.4.8: canGetAndSetFMUState")
def repeatable_steps(structure: Structure) -> Iterator[Finding]:
    """The FMUs of mutually coupled components can save their state.

    Then a master algorithm can restore the state and repeat a step until the coupled values converge. If an FMU cannot
    save its state, `ssptool run` uses the master `jacobi`, with which each component takes the outputs of the previous
    communication point. `--master iterated` is not available, and `--adaptive` locates no switches.

    An FMU of FMI 1.0 with `canRejectSteps` can repeat its last step. That is enough for `--master iterated`, unless
    steps are divided.

    Fix: export the FMU with `canGetAndSetFMUstate`; or check that a smaller `--step-size` does not change the result.
    """
    for cycle in _cycles(structure) if _some_unrepeatable(structure) else ():
        unable = [component for component in cycle if _unrepeatable(component, structure)]
        if unable:
            advice = "steps cannot be repeated, so `--master iterated` is not available"
            yield Finding(unable[0], _not_saved(cycle, unable), advice, "source")


def _not_saved(cycle: list[ssd.Component], unable: list[ssd.Component]) -> str:
    """A sentence about mutually coupled components, some or all of which cannot save their state."""
    names = abbreviated(map(full_name, cycle))
    if len(unable) == len(cycle):
        return f"{counted(len(cycle), 'component')} are mutually coupled and cannot save their state: {names}"
    which = f"{len(unable)} of them cannot save their state: {abbreviated(map(full_name, unable))}"
    if len(unable) == 1:
        which = f"the FMU of {full_name(unable[0])} cannot save its state"
    return f"{counted(len(cycle), 'component')} are mutually coupled ({names}); {which}"


@FMUS.rule("FMU-107", severity=WARNING, basis=DERIVED, source="FMI 2.0.4 §3.3.1, FMI 3.0 §2.4.8")
def one_instance_per_process(structure: Structure) -> Iterator[Finding]:
    """An FMU that can be instantiated only once per process is the FMU of one component.

    On Linux, ssptool gives the other components processes of their own (`ssptool plan` names them). Elsewhere, and by
    tools that run all components in one process, such a system is refused or gives wrong results.

    Fix: export the FMU without `canBeInstantiatedOnlyOncePerProcess`.
    """
    users: dict[Path, list[ssd.Component]] = {}
    alone = any(one.once_per_process for one in _interfaces(structure))
    for component in structure.all(ssd.Component) if alone else ():
        for fmu, _, offered in _offered(component, structure):
            if all(interface.once_per_process for interface in offered.values()):
                users.setdefault(fmu.path, []).append(component)
    for components in users.values():
        if len(components) > 1:
            names = abbreviated(map(full_name, components))
            message = f"the FMU can be instantiated only once per process, and {len(components)} components use it"
            yield Finding(
                components[1], f"{message}: {names}", f"see line {structure.line_of(components[0])}", "source"
            )


def _cycles(structure: Structure) -> Iterator[list[ssd.Component]]:
    """Sets of mutually coupled components with FMUs, in document order."""
    feeds = signal_flow(structure)
    order = {component: number for number, component in enumerate(structure.all(ssd.Component))}
    for vertices in cyclic_components(feeds):
        components = [vertex for vertex in vertices if isinstance(vertex, ssd.Component)]
        if len(components) > 1:
            yield sorted(components, key=lambda component: order[component])


def _some_unrepeatable(structure: Structure) -> bool:
    return not all(one.saves_state or one.rejects_steps for one in _interfaces(structure))


def _interfaces(structure: Structure) -> Iterator[Interface]:
    """Interfaces of all FMUs, which in a large system are fewer than its components."""
    for description in structure.fmus.values():
        if isinstance(description, FmuDescription):
            yield from (one for kind in InterfaceType if (one := description.interface(kind)) is not None)


def _unrepeatable(component: ssd.Component, structure: Structure) -> bool:
    """True if the FMU of a component can neither save its state nor reject a step."""
    offered = [interface for _, _, kinds in _offered(component, structure) for interface in kinds.values()]
    return bool(offered) and not any(interface.saves_state or interface.rejects_steps for interface in offered)


Offer = tuple[FmuFile, FmuDescription, Mapping[InterfaceType, Interface]]


@remembered
def _offered(component: ssd.Component, structure: Structure) -> tuple[Offer, ...]:
    """The FMU of a component, with the interfaces that the component can use; empty if there are none."""
    description = structure.fmu_of(component)
    if description is None:
        return ()
    fmu = structure.fmu_files[structure.reference(component, component.source or "").entry]
    return _offered_by((fmu, component.implementation), structure)


@remembered
def _offered_by(key: tuple[FmuFile, ssd.Implementation], structure: Structure) -> tuple[Offer, ...]:
    fmu, implementation = key
    description = fmu.description
    if not isinstance(description, FmuDescription):
        return ()
    kinds = [kind for kind in InterfaceType if implementation in (ssd.Implementation.ANY, kind.value)]
    offered = {kind: interface for kind in kinds if (interface := description.interface(kind)) is not None}
    return ((fmu, description, offered),) if offered else ()
