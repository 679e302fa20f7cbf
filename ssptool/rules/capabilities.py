"""The FMUs themselves: what FMI demands of them, and whether the system can run here (FMI 1.0, FMI 2.0, FMI 3.0)"""

from collections.abc import Iterator, Set
from pathlib import Path
from zipfile import BadZipFile

from ssptool.documents import ssd
from ssptool.documents.diagnostics import InvalidDocument, Position
from ssptool.documents.storage import NESTING_MARK
from ssptool.fmu.description import FmuDescription, Interface, InterfaceType, UnreadableFmu, unsupported_of_fmi1
from ssptool.fmu.model_description_xml import MODEL_DESCRIPTION
from ssptool.fmu.platforms import fmu_entries, library_entry, misnamed_library, platforms, this_platform
from ssptool.fmu.terminals import TERMINALS, UnreadableTerminals, read_terminals
from ssptool.fmu.validity import description_problems
from ssptool.network.graph_algorithms import cyclic_components
from ssptool.network.tree import fmu_path
from ssptool.rules.catalogue import DERIVED, INFO, POLICY, WARNING, Chapter, Finding, near
from ssptool.rules.links import signal_flow
from ssptool.rules.subjects import Reach, Structure, remembered

FMUS = Chapter(
    "The FMUs themselves: what FMI demands of them, and whether the system can run here (FMI 1.0, FMI 2.0, FMI 3.0)"
)

MOST_SHOWN = 20
"""Problems of one FMU; the rest are counted."""


@FMUS.rule("FMU-101", severity=WARNING, basis=DERIVED, source="FMI 2.0.4 §2.2, FMI 3.0 §2.4; checked by FMPy")
def valid_descriptions(structure: Structure) -> Iterator[Finding]:
    """The model description of an FMU is valid: by its schema, and by the rules on variables and model structure.

    A warning, because many tools, ssptool among them, get along with such an FMU as long as it can be read; what is
    built on a missing or wrong statement, such as a start value or a dependency, may be wrong all the same.

    Fix: export the FMU again, with a tool that gets this right.
    """
    for entry, description in structure.fmus.items():
        if isinstance(description, FmuDescription):
            try:
                problems = description_problems(fmu_path(structure.archive, entry))
            except (UnreadableFmu, InvalidDocument):
                continue  # FMU-001
            file = f"{entry}{NESTING_MARK}{MODEL_DESCRIPTION}"
            for problem in problems[:MOST_SHOWN]:
                yield Finding(Position(file, problem.line), problem.message)
            if len(problems) > MOST_SHOWN:
                yield Finding(Position(file), f"there are {len(problems) - MOST_SHOWN} more problems")


@FMUS.rule("FMU-102", severity=WARNING, basis=POLICY, source="FMI 2.0.4 §2.3, FMI 3.0 §2.5")
def binary_for_this_machine(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The FMU of a component has a binary for the machine that runs ssptool.

    Elsewhere the system may run; here it cannot.

    Fix: export the FMU for this platform as well; or ignore this rule where the system is only checked.
    """
    for path, description, offered in _offered(component, structure):
        here = this_platform(description.fmi_major)
        there = frozenset().union(*(_platforms((path, interface), structure) for interface in offered))
        if here not in there:
            others = ", ".join(sorted(there)) or "no binaries at all"
            yield Finding(component, f"the FMU has no binary for {here}", f"it has {others}", "source")


@FMUS.rule("FMU-108", severity=WARNING, basis=DERIVED, source="FMI 2.0.4 §2.3, FMI 3.0 §2.5.1.3")
def named_library(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The library of an FMU has the name of its model identifier.

    ssptool uses a library of another name where it is the only one for the platform; other tools refuse such an FMU.

    Fix: export the FMU again, or rename the library.
    """
    for path, description, offered in _offered(component, structure):
        for identifier in sorted({interface.model_identifier for interface in offered}):
            wanted = Path(library_entry(description.fmi_major, identifier))
            found = misnamed_library(_entries(path, structure), wanted.as_posix())
            if found is not None:
                folder = wanted.parent.as_posix()
                message = f"the library in {folder} must be called {wanted.name}; found {Path(found).name}"
                yield Finding(component, message, "export the FMU again, or rename the library", "source")


@FMUS.rule("FMU-103", severity=INFO, basis=POLICY, source="FMI 2.0.4 §4.3.1, FMI 3.0 §2.4.8")
def self_contained(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """An FMU needs no other tool to be installed.

    Fix: install the tool by which it was exported; or export it without `needsExecutionTool`.
    """
    for _, _, offered in _offered(component, structure):
        if all(interface.needs_tool for interface in offered):
            yield Finding(component, "the FMU works only where the tool is installed that exported it", "", "source")


@FMUS.rule("FMU-104", severity=WARNING, basis=DERIVED, source="FMI 3.0 §2.4.9")
def valid_terminals(structure: Structure) -> Iterator[Finding]:
    """The terminals of an FMU can be read, and their members are variables of the FMU.

    `ssptool connect` connects terminals member by member.

    Fix: export the FMU again.
    """
    for entry, description in structure.fmus.items():
        if not isinstance(description, FmuDescription):
            continue
        file = Position(f"{entry}{NESTING_MARK}{TERMINALS}")
        try:
            terminals = read_terminals(fmu_path(structure.archive, entry))
        except UnreadableTerminals as problem:
            yield Finding(file, problem.reason)
            continue
        except InvalidDocument:
            continue  # FMU-001
        for terminal in terminals.values():
            for member in terminal.members:
                if member.variable not in description.variables:
                    message = f"the member '{member.name}' of '{terminal.name}' is the variable '{member.variable}'"
                    yield Finding(file, message + ", which there is not", near(member.variable, description.variables))


@FMUS.rule("FMU-105", severity=INFO, basis=POLICY, source="ssptool")
def runnable(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """A component is something that ssptool can run: an FMU for co-simulation or model exchange.

    Of FMI 1.0 only co-simulation is run, and not that which couples to another tool (CoSimulation_Tool); of FMI 3.0 all
    but scheduled execution. Other components can be described, checked and edited; a run of the system is refused.

    Fix: export the component as such an FMU.
    """
    description = structure.fmu_of(component)
    if description is None:
        return
    if unsupported := unsupported_of_fmi1(description):
        yield Finding(component, f"the FMU offers {unsupported} only, which ssptool does not run", "", "source")
    elif not any(description.interface(kind) for kind in InterfaceType):
        yield Finding(component, "the FMU offers scheduled execution only, which ssptool does not run", "", "source")


@FMUS.rule("FMU-106", severity=INFO, basis=POLICY, source="FMI 2.0.4 §4.3.1, FMI 3.0 §2.4.8: canGetAndSetFMUState")
def repeatable_steps(structure: Structure) -> Iterator[Finding]:
    """The FMUs of components that feed each other can save their state.

    Then a master algorithm can repeat a step until both sides agree on the values between them. Without, they see
    each other's values a step late: `ssptool run` takes the master `jacobi`, and refuses `iterated`, and adaptive steps
    where no power bonds are declared.

    FMI 1.0 has no such functions, but a flag `canRejectSteps` of FMUs that can do their last step again; that is enough
    for the master `iterated`, if the steps are not divided.

    Fix: export the FMU with `canGetAndSetFMUstate`; or be sure that the steps are short enough.
    """
    for cycle in _cycles(structure):
        names = ", ".join(f"'{component.name}'" for component in cycle)
        for component in cycle:
            offered = [interface for _, _, kinds in _offered(component, structure) for interface in kinds]
            if offered and not any(interface.saves_state or interface.rejects_steps for interface in offered):
                message = f"{names} feed each other, and the FMU of '{component.name}' cannot save its state"
                advice = "they see each other's values a step late; the master 'iterated' is refused"
                yield Finding(component, message, advice, "source")


@FMUS.rule("FMU-107", severity=WARNING, basis=DERIVED, source="FMI 2.0.4 §3.3.1, FMI 3.0 §2.4.8")
def one_instance_per_process(structure: Structure) -> Iterator[Finding]:
    """An FMU that can be instantiated only once per process is the FMU of one component.

    On Linux, ssptool gives the other components processes of their own (`ssptool plan` names them). Elsewhere, and by
    tools that run all components in one process, such a system is refused or gives wrong results.

    Fix: export the FMU without `canBeInstantiatedOnlyOncePerProcess`.
    """
    first: dict[Path, ssd.Component] = {}
    for component in structure.all(ssd.Component):
        for path, _, offered in _offered(component, structure):
            other = first.setdefault(path, component)
            if other is not component and all(interface.once_per_process for interface in offered):
                message = f"the FMU can be instantiated only once, and is that of '{other.name}' already"
                yield Finding(component, message, f"see line {structure.line_of(other)}", "source")


def _cycles(structure: Structure) -> Iterator[list[ssd.Component]]:
    """FMUs each of which takes values from another one and, in the end, gives values to that; in document order."""
    feeds = signal_flow(structure)
    order = {component: number for number, component in enumerate(structure.all(ssd.Component))}
    for vertices in cyclic_components(feeds):
        components = [vertex for vertex in vertices if isinstance(vertex, ssd.Component)]
        if len(components) > 1:
            yield sorted(components, key=lambda component: order[component])


Offer = tuple[Path, FmuDescription, list[Interface]]


@remembered
def _offered(component: ssd.Component, structure: Structure) -> tuple[Offer, ...]:
    """The FMU of a component, and the interfaces of it that the component can use; nothing if there are none."""
    description = structure.fmu_of(component)
    reference = structure.reference(component, component.source or "")
    if description is None or reference.reach is not Reach.INSIDE:
        return ()
    kinds = [kind for kind in InterfaceType if component.implementation in (ssd.Implementation.ANY, kind.value)]
    offered = [interface for kind in kinds if (interface := description.interface(kind)) is not None]
    if not offered:
        return ()
    try:
        return ((fmu_path(structure.archive, reference.entry), description, offered),)
    except InvalidDocument:
        return ()  # FMU-001


@remembered
def _entries(path: Path, structure: Structure) -> Set[str]:
    try:
        return fmu_entries(path)
    except (OSError, BadZipFile, NotImplementedError, ValueError):
        return frozenset()  # FMU-001


@remembered
def _platforms(binary: tuple[Path, Interface], structure: Structure) -> frozenset[str]:
    return platforms(*binary)
