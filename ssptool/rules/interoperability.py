"""Rules on known limits of other tools.

These rules are off unless a tool is named (`ssptool validate --for TOOL`, `for` in `ssptool.toml`). The tools and their
versions are in `ssptool.rules.catalogue.TOOLS`; docs/interoperability.md describes how each limit was found.
"""

from collections.abc import Iterator
from functools import partial

from ssptool.documents import ssc, ssd, ssv
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.documents.vocabulary import FMU, NSMAP
from ssptool.network.conversion import conversion, convertible
from ssptool.network.network import IDENTITY
from ssptool.rules.catalogue import ERROR, POLICY, WARNING, Chapter, Finding, rewritten
from ssptool.rules.links import links
from ssptool.rules.subjects import Structure, around, is_fmu, is_structure, once_per_source

OTHER_TOOLS = Chapter(
    "Limits of other tools: valid documents that a tool is known to refuse or misread",
    section="docs/interoperability.md",
)
PREFIXES = {prefix: NSMAP[prefix] for prefix in ("ssd", "ssc", "ssv")}
BASIC = ("Real", "Integer", "Boolean", "String")
LEAVES_OUT, REFUSES = "leaves the component out", "refuses the system"
IGNORES_IT, IGNORES_THEM = "ignores it", "ignores them"

limit = partial(OTHER_TOOLS.rule, severity=ERROR, basis=POLICY)
"""Decorator for a rule on a limit of other tools."""


@limit("PEER-001", tools={"omsimulator": LEAVES_OUT})
def explicit_type(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """A component states its type.

    By default a component is an FMU, but some tools leave out a component without a type, without a message.

    Fix: state `type="application/x-fmu-sharedlibrary"`.
    """
    if "type" not in component.attrib and is_fmu(component):
        yield Finding(
            component, f"component '{component.name}' states no type", "", fix=rewritten(component, "type", FMU)
        )


@limit("PEER-002", tools={"omsimulator": LEAVES_OUT, "fmpy": REFUSES, "libcosim": REFUSES, "ecos": REFUSES})
def components_are_fmus(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """Components are FMUs, not systems in documents of their own.

    Fix: write the inner system as `ssd:System` into the document, or replace it by its components.
    """
    if is_structure(component):
        yield Finding(component, f"component '{component.name}' is a system ('{component.source}')", "", "source")


@limit("PEER-003", tools={"libcosim": REFUSES, "ecos": "leaves the inner system out"})
def no_inner_systems(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """There are no systems inside the root system.

    Fix: move their components into the root system.
    """
    if system is not structure.root.system:
        yield Finding(system, f"'{system.name}' is a system inside another", "", "name")


@limit("PEER-004", tools={"libcosim": REFUSES, "ecos": REFUSES})
def no_boundary(connection: ssd.Connection, structure: Structure) -> Iterator[Finding]:
    """Connections lead from component to component, not to connectors of the system around them.

    Fix: remove the connectors of the system; drive the component with the tool's own means.
    """
    if not connection.start_element or not connection.end_element:
        connector = connection.end_connector if connection.start_element else connection.start_connector
        yield Finding(connection, f"'{connector}' is a connector of the system itself")


@limit("PEER-005", tools={"libcosim": REFUSES})
def basic_types(connector: ssd.Connector, structure: Structure) -> Iterator[Finding]:
    """Connectors of components state one of the types Real, Integer, Boolean and String.

    Fix: state one of these types.
    """
    if isinstance(next(around(connector, ssd.SystemElement)), ssd.Component) and connector.type_name not in BASIC:
        yield Finding(connector, f"connector '{connector.name}' has {_type(connector.type_name)}")


@limit("PEER-006", tools={"fmpy": REFUSES, "ecos": REFUSES}, versions=["2.0"])
def ssp_1(root: ssd.SystemStructureDescription, structure: Structure) -> Iterator[Finding]:
    """The document is SSP 1.0.

    Fix: `ssptool downgrade`.
    """
    yield Finding(root, "the document is SSP 2.0", "`ssptool downgrade` writes SSP 1.0", "version")


@limit("PEER-007", tools={"omsimulator": "has no factor then", "ecos": "takes 0 for it"})
def explicit_factor(transformation: ssc.LinearTransformation, structure: Structure) -> Iterator[Finding]:
    """A linear transformation states its factor.

    The default of the standard is 1.

    Fix: state `factor="1"`.
    """
    if "factor" not in transformation.attrib:
        fix = rewritten(transformation, "factor", "1")
        yield Finding(transformation, "the linear transformation states no factor", "", fix=fix)


@limit("PEER-008", tools={"fmpy": IGNORES_IT})
def no_linear_transformation(connection: ssd.Connection, structure: Structure) -> Iterator[Finding]:
    """Connections pass values on as they are, without a linear transformation.

    Fix: transform the value in a component.
    """
    if isinstance(connection.transformation, ssc.LinearTransformation):
        yield Finding(connection.transformation, "the connection has a linear transformation")


@limit("PEER-009", tools=dict.fromkeys(("omsimulator", "fmpy", "libcosim", "ecos"), IGNORES_IT))
def no_mapping_transformation(connection: ssd.Connection, structure: Structure) -> Iterator[Finding]:
    """Connections have no Boolean, integer or enumeration mapping.

    Fix: map the value in a component.
    """
    stated = connection.transformation
    if stated is not None and not isinstance(stated, ssc.LinearTransformation):
        yield Finding(stated, "the connection maps values by a table")


@limit("PEER-010", tools=dict.fromkeys(("fmpy", "libcosim", "ecos"), "passes the number on as it is"))
def equal_units(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The two ends of a connection have the same unit.

    The standard lets the tool convert units; not every tool does.

    Fix: state a linear transformation with `suppressUnitConversion="true"`, or use one unit.
    """
    for link in links(system, structure):
        a, b = link.start.carried.unit, link.end.carried.unit
        if a is None or b is None or link.connection.suppress_unit_conversion or not convertible(a, b):
            continue
        if conversion(a, b) != IDENTITY:
            yield Finding(link.connection, f"{link.start} is in {a.name}, {link.end} in {b.name}")


@limit("PEER-011", tools={"libcosim": IGNORES_THEM, "ecos": IGNORES_THEM, "fmpy": IGNORES_THEM})
def bound_to_components(binding: ssd.ParameterBinding, structure: Structure) -> Iterator[Finding]:
    """Parameter sets are bound to components, not to systems.

    FMPy reads no bindings at all: it takes one parameter set as an argument of `simulate_ssp`.

    Fix: bind the parameters of each component to it: `ssptool bind SYSTEM FILE --to COMPONENT`.
    """
    owner = next(around(binding, ssd.SystemElement))
    if isinstance(owner, ssd.System):
        what = binding.source or "an inline parameter set"
        yield Finding(binding, f"{what} is bound to the system '{owner.name}'")


@limit("PEER-012", tools={"libcosim": IGNORES_IT, "ecos": IGNORES_IT})
def no_parameter_mapping(mapping: ssd.ParameterMapping, structure: Structure) -> Iterator[Finding]:
    """Parameters have the names of the variables that they set, without a parameter mapping.

    Fix: rename the parameters in the set.
    """
    yield Finding(mapping, "the binding has a parameter mapping")


@limit("PEER-013", tools=dict.fromkeys(("omsimulator", "libcosim", "ecos"), IGNORES_IT))
def no_prefix(binding: ssd.ParameterBinding, structure: Structure) -> Iterator[Finding]:
    """Parameter bindings have no prefix.

    Fix: write the prefix into the names of the parameters.
    """
    if binding.prefix:
        yield Finding(binding, f"the binding has the prefix '{binding.prefix}'", "", "prefix")


@limit("PEER-014", tools={"libcosim": REFUSES, "ecos": REFUSES})
def basic_parameters(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """Parameters are Real, Integer, Boolean or String.

    Fix: give the parameter one of these types.
    """
    type_name = None if parameter.type is None else parameter.type.type_name
    if type_name not in BASIC:
        yield Finding(parameter, f"parameter '{parameter.name}' has {_type(type_name)}", "", "name")


@limit("PEER-015", tools={"omsimulator": IGNORES_IT, "libcosim": REFUSES, "ecos": IGNORES_IT})
def no_dictionaries(reference: ssd.SignalDictionaryReference, structure: Structure) -> Iterator[Finding]:
    """No signal dictionary connects components.

    Fix: connect the components directly.
    """
    yield Finding(reference, f"'{reference.name}' refers to a signal dictionary", "", "name")


@limit("PEER-016", tools={"fmpy": REFUSES})
def no_fmi_3(structure: Structure) -> Iterator[Finding]:
    """FMUs are of FMI 1.0 or 2.0.

    Fix: ask for an FMU of FMI 2.0.
    """
    return once_per_source(structure, _fmi_3)


def _fmi_3(component: ssd.Component, structure: Structure) -> Iterator[tuple[str, str]]:
    description = structure.fmu_of(component)
    if description is not None and description.fmi_major >= 3:
        yield f"the FMU is of FMI {description.fmi_version}", ""


@limit("PEER-017", tools=dict.fromkeys(("fmpy", "libcosim", "ecos"), REFUSES))
def co_simulation(structure: Structure) -> Iterator[Finding]:
    """FMUs offer co-simulation.

    Fix: export the FMU for co-simulation.
    """
    return once_per_source(structure, _no_co_simulation)


def _no_co_simulation(component: ssd.Component, structure: Structure) -> Iterator[tuple[str, str]]:
    description = structure.fmu_of(component)
    if description is not None and description.co_simulation is None:
        yield "the FMU offers no co-simulation", ""


@limit("PEER-018", tools={"libcosim": REFUSES, "ecos": "finds nothing in it"})
def usual_prefixes(root: ssc.TopLevel, structure: Structure) -> Iterator[Finding]:
    """The namespaces have the prefixes that the standard uses: `ssd`, `ssc`, `ssv`.

    XML allows any prefix, but some tools compare names including their prefixes.

    Fix: write the document with these prefixes.
    """
    for prefix, name in (root.nsmap or {}).items():
        usual = next((known for known, uri in PREFIXES.items() if uri == name), None)
        if usual is not None and prefix != usual and root.nsmap.get(usual) != name:
            stated = f"prefix '{prefix}'" if prefix else "default namespace"
            yield Finding(root, f"{name} has the {stated} instead of '{usual}'")


@limit("PEER-019", tools={"libcosim": REFUSES, "ecos": "reads it the wrong way round"})
def stated_with_the_flow(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Connections are written in the direction of the flow: they start at the output.

    The standard gives start and end no meaning.

    Fix: exchange the start and the end of the connection.
    """
    for link in links(system, structure):
        if link.flow is not None and link.flow[0] is link.end and link.start.side.kind is not Kind.UNSPECIFIED:
            yield Finding(link.connection, f"the connection starts at {link.start}, which takes the value")


@limit("PEER-020", severity=WARNING, tools={"libcosim": "takes the first only"})
def one_parameter_set(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """A component has one parameter set.

    Fix: put all parameters into one set.
    """
    for binding in component.parameter_bindings[1:]:
        yield Finding(binding, f"component '{component.name}' has more than one parameter binding")


@limit("PEER-021", tools=dict.fromkeys(("fmpy", "libcosim", "ecos"), REFUSES))
def no_tables(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """Components are FMUs, not tables.

    OMSimulator has tables (`text/csv`); the standard leaves the types of components open.

    Fix: give the system an input instead, and drive it with the tool's own means.
    """
    if component.is_table:
        yield Finding(component, f"component '{component.name}' is a table ('{component.source}')", "", "source")


def _type(name: str | None) -> str:
    return "no type" if name is None else f"the type {name}"
