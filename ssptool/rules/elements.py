"""Rules on systems and components: their types, tables, geometry, and the default experiment."""

import math
import re
from collections.abc import Iterator

from ssptool.documents import ssc, ssd
from ssptool.documents.document import Positions
from ssptool.documents.element import Element
from ssptool.documents.storage import NESTING_MARK
from ssptool.documents.vocabulary import FMU, MODELICA, PACKAGE, SYSTEM_STRUCTURE, media_type
from ssptool.errors import counted
from ssptool.fmu.description import Causality, FmuDescription
from ssptool.network.network import Scope
from ssptool.network.tables import (
    NO_COLUMN,
    NO_OUTPUT,
    NO_VALUE,
    UNREADABLE,
    TableFile,
    TableProblem,
    outputs_of,
    read_table,
)
from ssptool.rules.catalogue import (
    DERIVED,
    ERROR,
    INFO,
    MUST,
    POLICY,
    SHOULD,
    TEXT,
    WARNING,
    Chapter,
    Finding,
    near,
    rewritten,
    without,
)
from ssptool.rules.links import recursive
from ssptool.rules.subjects import (
    STRUCTURE_TYPES,
    Reach,
    Structure,
    around,
    every,
    inside,
    is_fmu,
    is_structure,
    remembered,
)

ELEMENTS = Chapter("Systems and components (SSP 2.0 §5.2, §5.4)")


@ELEMENTS.rule("SSD-ELEM-002", severity=ERROR, basis=MUST, source="SSP 2.0 §5.2", blocks_run=True)
def distinct_elements(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The elements of a system have different names.

    Connections and parameters address elements by name; with two elements of the same name the address is ambiguous.
    Components, systems and signal dictionary references share one namespace.

    Fix: rename one of them, and the connections and parameters that refer to it.
    """
    first: dict[str, ssd.SystemElement] = {}
    for element in system.elements:
        other = first.setdefault(element.name, element)
        if other is not element:
            message = f"the element in line {structure.line_of(other)} has the name '{element.name}' too"
            yield Finding(element, message, "rename one of them", "name")


@ELEMENTS.rule("SSD-ELEM-003", severity=INFO, basis=TEXT, source="SSP 2.0 §5.2.3")
def distinct_hierarchical_names(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Dots in names do not give two elements or connectors the same hierarchical name.

    Names may contain dots, so that the connector `D` of component `C` in system `B` and the connector `D` of a
    component named `B.C` are both `B.C.D`; a parameter of that name is given to both. So are
    components `C.D` in `B` and `D` in `B.C`, or a connector `B.x` of the system and the connector `x` of `B`.

    Fix: rename one of the elements or connectors.
    """
    names = {element.name: element for element in system.elements}
    for name, element in names.items():
        for other in _outer(name):
            if other not in names:
                continue
            inside = {f"{other}.{path}" for path in _paths(names[other])}
            if name in inside:
                yield Finding(element, f"an element inside '{other}' is addressed as '{name}' too", "", "name")
            elif same := [path for path in _paths(element, name) if path in inside]:
                more = f" (and {counted(len(same) - 1, 'more name')})" if len(same) > 1 else ""
                message = f"'{same[0]}' is inside '{name}', and inside '{other}' too{more}"
                yield Finding(element, message, f"rename '{name}' or an element in it", "name")
    for connector in system.connectors:
        for other in _outer(connector.name):
            if other in names and connector.name in _paths(names[other], other):
                message = f"a connector inside '{other}' is addressed as '{connector.name}' too"
                yield Finding(connector, message, "rename one of the connectors", "name")


def _outer(name: str) -> Iterator[str]:
    """Parts of a name before each dot: "A.B.C" → "A", "A.B"."""
    return (name[: dot.start()] for dot in re.finditer(r"\.", name))


def _paths(element: ssd.SystemElement, within: str = "") -> Iterator[str]:
    """The hierarchical names of the connectors and elements inside an element."""
    start = f"{within}." if within else ""
    yield from (start + connector.name for connector in element.connectors)
    for inner in element.elements if isinstance(element, ssd.System) else ():
        yield start + inner.name
        yield from _paths(inner, start + inner.name)


@ELEMENTS.rule(
    "SSD-COMP-002", severity={"1.0": WARNING, "2.0": ERROR}, basis=MUST, source="SSP 2.0 §5.4", blocks_run=True
)
def no_empty_source(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The `source` of a component is not empty.

    An empty URI refers to the system structure itself. Since 2.0 a component without implementation has no `source`.

    Fix: remove the attribute (2.0), or refer to an FMU.
    """
    if component.source == "":
        # Components without a source exist since 2.0.
        fix = without(component, "source", safe=False) if structure.version == "2.0" else None
        yield Finding(component, f"the source of component '{component.name}' is empty", "", "source", fix=fix)


@ELEMENTS.rule("SSD-COMP-004", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.4")
def known_type(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The type of a component is one of the media types that the standard names.

    ssptool cannot run a component of any other type, except tables (`text/csv`, as OMSimulator has them; TABLE-101).

    Fix: correct the type; for an FMU, and for a source `#id`, it may be left out.

    Accepted: the component and its connections are left out.
    """
    known = (FMU, *STRUCTURE_TYPES, *([MODELICA] if structure.version == "2.0" else []))
    if component.media_type not in known and not component.is_table:
        yield Finding(component, f"the type '{component.type}' is unknown", "known: " + ", ".join(known), "type")


@ELEMENTS.rule("SSD-COMP-005", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.4", blocks_run=True)
def type_fits_source(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The file of a component has the type that the component states.

    A component without a type is an FMU, or with a source `#id` a system of the same document.

    Fix: state the type: `application/x-ssp-definition` for an SSD, `application/x-ssp-package` for an SSP.
    """
    if not component.source:
        return
    reference = structure.reference(component, component.source)
    ending = reference.entry.rpartition(".")[2].lower()
    if is_fmu(component) and ending in ("ssd", "ssp"):
        kind = SYSTEM_STRUCTURE if ending == "ssd" else PACKAGE
        advice = f'state type="{kind}"'
        fix = rewritten(component, "type", kind, safe=False)
        yield Finding(component, f"'{component.source}' is not an FMU, but the type says so", advice, "source", fix=fix)
    if is_structure(component):
        packed = component.media_type == PACKAGE
        if ending == "fmu":
            yield Finding(component, f"'{component.source}' is an FMU, the type is '{component.type}'", "", "type")
        elif (ending == "ssd" and packed) or (ending == "ssp" and not packed):
            other = PACKAGE if ending == "ssp" else SYSTEM_STRUCTURE
            message = (
                f"'{component.source}' is {'no package' if packed else 'a package'}, the type is '{component.type}'"
            )
            fix = rewritten(component, "type", other, safe=False)
            yield Finding(component, message, f'state type="{other}"', "type", fix=fix)


@ELEMENTS.rule("SSD-COMP-006", severity=ERROR, basis=MUST, source="SSP 2.0 §5.4", blocks_run=True)
def known_variant(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """A source `x.ssp#name` names a system structure at the root of that package.

    Fix: correct the name; without one the default, `SystemStructure.ssd`, is meant.
    """
    reference = structure.reference(component, component.source or "")
    package = reference.reach is Reach.INSIDE and reference.entry.lower().endswith(".ssp")
    if not (package and reference.fragment and structure.archive.has(reference.entry)):
        return
    variants = structure.variants_of(reference.entry)
    if variants and inside(reference).rpartition(NESTING_MARK)[2] not in variants:
        message = f"{reference.entry} has no system structure '{reference.fragment}' at its root"
        yield Finding(component, message, near(reference.fragment, variants), "source")


@ELEMENTS.rule("SSD-COMP-007", severity=ERROR, basis=MUST, source="SSP 2.0 §5.4", blocks_run=True)
def known_system_id(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """A source `#id` names a system of the same document by its `id`.

    Such a component needs no type; `application/x-ssp-definition` says the same.

    Fix: give the system that id, or correct the source.
    """
    source = component.source or ""
    if source.startswith("#"):
        systems = {system.id: system for system in structure.systems if system.id is not None}
        if source[1:] not in systems:
            advice = near(source[1:], systems)
            yield Finding(component, f"no system of this document has the id '{source[1:]}'", advice, "source")


@ELEMENTS.rule("SSD-COMP-008", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.4", blocks_run=True)
def no_recursion(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """A component is not an instance of a system that contains it.

    Neither directly nor through other systems and documents; otherwise the system would be infinitely deep.

    Fix: refer to another system.
    """
    if recursive(component, structure):
        yield Finding(component, f"'{component.source}' contains this component", "", "source")


@ELEMENTS.rule("SSD-COMP-009", severity=ERROR, basis=MUST, source="SSP 2.0 §5.4", blocks_run=True)
def implementation_exists(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The FMU of a component implements the interface that the component asks for.

    Fix: ask for one that it has; `any`, the default, leaves the choice to the tool.
    """
    description = structure.fmu_of(component)
    wanted = component.implementation
    if description is not None and wanted != ssd.Implementation.ANY:
        offered = description.interface_types
        if wanted.value not in offered:
            advice = f"it implements {' and '.join(offered) or 'none'}"
            yield Finding(component, f"the FMU does not implement {wanted}", advice, "implementation")


@ELEMENTS.rule("SSD-COMP-010", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.4", versions=["2.0"], blocks_run=True)
def scheduled_execution(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """Only a component with an FMI 3.0 FMU asks for scheduled execution.

    Earlier versions of FMI do not have it.

    Fix: ask for `any`, `CoSimulation` or `ModelExchange`.
    """
    description = structure.fmu_of(component)
    scheduled = component.implementation == ssd.Implementation.SCHEDULED_EXECUTION
    if scheduled and description is not None and description.fmi_major < 3:
        message = f"the FMU is of FMI {description.fmi_version}, which has no scheduled execution"
        yield Finding(component, message, "", "implementation")


@ELEMENTS.rule("SSD-COMP-011", severity=INFO, basis=TEXT, source="SSP 2.0 §5.4")
def implementation_of_fmus(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """Only a component with an FMU states an `implementation`.

    Fix: remove the attribute.
    """
    if "implementation" in component.attrib and not is_fmu(component):
        message = f"components of type '{component.type}' have no implementation"
        fix = without(component, "implementation")
        yield Finding(component, message, "", "implementation", fix=fix)


@ELEMENTS.rule("SSD-COMP-013", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.4", versions=["2.0"])
def modelica_path(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The type of a Modelica component names its class: `text/x-modelica; path=Package.Class`.

    Fix: add the parameter `path`.
    """
    if component.media_type == MODELICA and not _names_class(component.type):
        yield Finding(component, "the type does not name the class", "add '; path=Package.Class'", "type")


_BUILT_IN = ("Real", "Integer", "Boolean", "String")


@ELEMENTS.rule("SSD-CTR-007", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.2.1", versions=["2.0"])
def built_in_connectors(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """Inputs and outputs of a Modelica component are Real, Integer, Boolean or String.

    These stand for the connectors of Modelica's blocks; every other connector is Binary (SSD-CTR-008).

    Fix: state one of these types.
    """
    if component.media_type == MODELICA:
        for connector in component.connectors:
            directed = connector.kind in (ssd.ConnectorKind.INPUT, ssd.ConnectorKind.OUTPUT)
            if directed and connector.type_name not in (None, "Binary", *_BUILT_IN):
                message = f"the {connector.kind} '{connector.name}' is {connector.type_name}"
                yield Finding(connector, message, "Modelica's are " + ", ".join(_BUILT_IN))


@ELEMENTS.rule("SSD-CTR-008", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.2.1", versions=["2.0"])
def other_modelica_connectors(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """Other connectors of a Modelica component are Binary of the media type `text/x-modelica; path=…`.

    The path names the class of the connector. Acausal ones, such as flanges, are of the kind `unspecified`.

    Fix: state that type.
    """
    if component.media_type == MODELICA:
        for connector in component.connectors:
            stated = connector.type
            named = isinstance(stated, ssc.Binary) and _names_class(stated.mime_type)
            if isinstance(stated, ssc.Binary) and not named:
                message = f"the media type of '{connector.name}' is '{stated.mime_type}'"
                yield Finding(stated, message, f"write {MODELICA}; path=Package.Connector", "mime-type")
            elif connector.kind is ssd.ConnectorKind.UNSPECIFIED and not named:
                message = f"'{connector.name}' is unspecified, but not Binary of the type {MODELICA}"
                yield Finding(connector, message, f"write {MODELICA}; path=Package.Connector")


def _names_class(text: str) -> bool:
    parameters = [part.strip() for part in text.split(";")[1:]]
    return media_type(text) == MODELICA and any(part.startswith("path=") and part != "path=" for part in parameters)


TABLES = Chapter(
    "Tables: components of the type `text/csv`, as OMSimulator has them", section="SSP 2.0 §5.4; OMSimulator"
)


@TABLES.rule(UNREADABLE, severity=ERROR, basis=POLICY, blocks_run=True)
def readable_table(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The source of a table is a CSV file: a header with `time` first, and rows whose times do not descend.

    A component of type `text/csv`, or `application/table` as older files have it, is a table; so is one without a type
    whose source ends in `.csv`. Every row has as many values as the header, and times are numbers of seconds.

    Fix: correct the file.
    """
    yield from _found(UNREADABLE, component, structure)


@TABLES.rule(NO_COLUMN, severity=ERROR, basis=POLICY)
def known_columns(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The connector of a table has the name of one of its columns.

    A unit in brackets, `speed [km/h]`, is not part of the name.

    Fix: correct the name, or add the column.

    Accepted: the connector and its connections are left out.
    """
    yield from _found(NO_COLUMN, component, structure)


@TABLES.rule(NO_OUTPUT, severity=ERROR, basis=POLICY)
def outputs_of_tables(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The connector of a table is an output, and no array, Binary or Clock.

    A table has no inputs, and a cell holds one number or text.

    Fix: state `kind="output"`, or delete the connector.

    Accepted: the connector and its connections are left out.
    """
    yield from _found(NO_OUTPUT, component, structure)


@TABLES.rule(NO_VALUE, severity=ERROR, basis=POLICY)
def values_of_tables(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The values in a column are of the type of the connector.

    A connector without a type is Real. Items of enumerations are written as names or numbers.

    Fix: correct the value, or the type.

    Accepted: the connector and its connections are left out.
    """
    yield from _found(NO_VALUE, component, structure)


def _found(code: str, component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    if component.is_table:
        for problem in _problems(component, structure):
            if problem.rule == code:
                yield Finding(problem.position, problem.message, problem.advice)


@remembered
def _problems(component: ssd.Component, structure: Structure) -> tuple[TableProblem, ...]:
    reference = structure.reference(component, component.source or "")
    document = structure.file.document
    if document is None or reference.reach is not Reach.INSIDE or not structure.archive.has(reference.entry):
        return ()  # URI-002
    scope = Scope(structure.archive, document, structure.units(structure.root), Positions(document))
    _, _, problems = outputs_of(component, _table(reference.entry, structure), scope)
    return problems


@remembered
def _table(entry: str, structure: Structure) -> TableFile:
    return read_table(structure.archive, entry)


EXPERIMENT = Chapter("The default experiment (SSP 2.0 §5.1.1)")


@EXPERIMENT.rule("SSD-EXP-002", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.1.1")
def sensible_times(experiment: ssd.DefaultExperiment, structure: Structure) -> Iterator[Finding]:
    """The times of the default experiment are finite, and it stops after it starts.

    Fix: correct the times.
    """
    start, stop = experiment.start_time, experiment.stop_time
    for name, time in (("startTime", start), ("stopTime", stop)):
        if time is not None and not math.isfinite(time):
            yield Finding(experiment, f"{name} is {time}", "write a finite number", name)
    if start is not None and stop is not None and stop <= start:
        yield Finding(experiment, f"it starts at {start:g} s and stops at {stop:g} s", "", "stopTime")


@EXPERIMENT.rule("SSD-EXP-004", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.1.1")
def one_time(structure: Structure) -> Iterator[Finding]:
    """The independent variables of all FMUs of a system have one unit.

    The standard leaves open how a tool couples a component over time in seconds with one over an angle in degrees;
    ssptool does not convert independent variables.

    Fix: export the FMUs with the same independent variable.
    """
    first: tuple[str, str] | None = None
    for component in structure.all(ssd.Component):
        description = structure.fmu_of(component)
        unit = None if description is None else independent_unit(description)
        if unit is not None:
            first = first or (unit, component.name)
            if unit != first[0]:
                found = f"the independent variable is in '{unit}', that of '{first[1]}' in '{first[0]}'"
                yield Finding(component, found, "", "source")


def independent_unit(description: FmuDescription) -> str | None:
    """The unit of the independent variable; None if it states none."""
    found = (one.unit for one in description.variables.values() if one.causality is Causality.INDEPENDENT)
    return next(found, None)


GEOMETRY = Chapter("Geometry (SSP 2.0 §5.2.1.1, §5.2.2, §5.3.2.2, §5.3.4, §5.3.5)")

_PICTURES = (".png", ".svg")


@GEOMETRY.rule("SSD-GEO-001", severity=ERROR, basis=MUST, source="SSP 2.0 §5.3.4")
def canvas_corners(canvas: ssd.SystemGeometry, structure: Structure) -> Iterator[Finding]:
    """The first corner of a canvas is its lower left, the second its upper right one.

    Fix: exchange the corners, so that x1 is less than x2 and y1 less than y2.

    Accepted: a run does not read geometry.
    """
    yield from _swapped(canvas)


@GEOMETRY.rule("SSD-GEO-002", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.3.5.1")
def note_corners(note: ssd.Note, structure: Structure) -> Iterator[Finding]:
    """The first corner of a note is its lower left, the second its upper right one.

    Fix: exchange the corners, so that x1 is less than x2 and y1 less than y2.
    """
    yield from _swapped(note)


@GEOMETRY.rule("SSD-GEO-003", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.3.2.2")
def paired_points(line: ssd.ConnectionGeometry, structure: Structure) -> Iterator[Finding]:
    """A connection has as many x as y coordinates.

    Together they are the way points of the line.

    Fix: add or delete coordinates.

    Accepted: a run does not read geometry.
    """
    if len(line.points_x) != len(line.points_y):
        yield Finding(line, f"{len(line.points_x)} x coordinates, but {len(line.points_y)} y coordinates")


@GEOMETRY.rule("SSD-GEO-004", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2.1.1")
def connector_on_element(place: ssd.ConnectorGeometry, structure: Structure) -> Iterator[Finding]:
    """A connector stands on its element: both coordinates are between 0 and 1.

    They are fractions of the element's box, not millimetres.

    Fix: divide by the size of the element.
    """
    for name, value in (("x", place.x), ("y", place.y)):
        if not 0 <= value <= 1:
            yield Finding(place, f"{name} is {value:g}, outside 0 to 1", "", name)


@GEOMETRY.rule("SSD-GEO-005", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2.2")
def visible_elements(box: ssd.ElementGeometry, structure: Structure) -> Iterator[Finding]:
    """The box of an element has a width and a height.

    Fix: move its corners apart.
    """
    if box.x1 == box.x2 or box.y1 == box.y2:
        yield Finding(box, f"the box is {abs(box.x2 - box.x1):g} wide and {abs(box.y2 - box.y1):g} high")


@GEOMETRY.rule("SSD-GEO-006", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2.1.1", versions=["2.0"])
def inner_places(place: ssd.ConnectorGeometry, structure: Structure) -> Iterator[Finding]:
    """An inner place is stated for connectors of systems only, and with both coordinates.

    Components have no inside that could be drawn.

    Fix: remove `systemInnerX` and `systemInnerY`, or add the other one.
    """
    given = [place.system_inner_x is not None, place.system_inner_y is not None]
    if any(given) and not isinstance(_owner(place), ssd.System):
        yield Finding(place, "only connectors of systems have an inner place")
    elif any(given) and not all(given):
        yield Finding(place, "one of systemInnerX and systemInnerY is missing")


@GEOMETRY.rule("SSD-GEO-007", severity=WARNING, basis=SHOULD, source="SSP 2.0 §5.2.2")
def icons(box: ssd.ElementGeometry, structure: Structure) -> Iterator[Finding]:
    """The icon of an element is an existing PNG or SVG file.

    Fix: add the file, correct the reference, or convert the picture.
    """
    if box.icon_source:
        reference = structure.reference(box, box.icon_source)
        if reference.reach is Reach.INSIDE and not structure.archive.has(reference.entry):
            yield Finding(box, f"there is no file '{reference.entry}'", "", "iconSource")
        elif not reference.entry.lower().endswith(_PICTURES):
            yield Finding(box, f"'{box.icon_source}' is neither PNG nor SVG", "", "iconSource")


@GEOMETRY.rule("SSD-GEO-008", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.2.2")
def finite_coordinates(structure: Structure) -> Iterator[Finding]:
    """All coordinates are finite numbers.

    Fix: correct them.

    Accepted: a run does not read geometry.
    """
    kinds: tuple[type[Element], ...] = (
        ssd.ElementGeometry,
        ssd.SystemGeometry,
        ssd.Note,
        ssd.ConnectorGeometry,
        ssd.ConnectionGeometry,
    )
    for element in every(structure.root, *kinds):
        for name, declared in type(element).attributes().items():
            value = getattr(element, name)
            numbers = value if isinstance(value, tuple) else (value,)
            if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
                yield Finding(element, f"{declared.name} is not finite", "", declared.name)


@GEOMETRY.rule("SSD-GEO-010", severity=INFO, basis=POLICY, source="SSP 2.0 §5.2.2")
def root_without_box(structure: Structure) -> Iterator[Finding]:
    """The root system has no box: there is no canvas around it.

    Its own canvas is stated by `SystemGeometry`.

    Fix: remove the `ElementGeometry`.
    """
    box = structure.root.system.geometry
    if box is not None:
        yield Finding(box, "the root system is not part of another canvas")


def _swapped(box: ssd.Box) -> Iterator[Finding]:
    if box.x1 >= box.x2 or box.y1 >= box.y2:
        yield Finding(box, f"({box.x1:g}, {box.y1:g}) is not to the lower left of ({box.x2:g}, {box.y2:g})")


def _owner(place: Element) -> Element | None:
    return next(around(place, ssd.SystemElement), None)
