"""Terminals of an exported system: terminals of its components whose members are all variables of the system."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lxml import etree

from ssptool.engine.assembly.instances import Sources
from ssptool.engine.planning.plan import Plan
from ssptool.errors import UnusableFile
from ssptool.exporting.interface import ExportedVariable
from ssptool.fmu.terminals import Terminal, TerminalMember, read_terminals
from ssptool.network.arrays import whole
from ssptool.network.network import IDENTITY, Signal


def exported_terminals(plan: Plan, variables: Sequence[ExportedVariable], sources: Sources) -> tuple[Terminal, ...]:
    """Terminals, with the full names of their components before their own. A member is an exposed variable, or a
    connector of the system with exactly its value.
    """
    names = _names(plan, variables)
    found = []
    for one in plan.instances:
        for terminal in _terminals(sources, one.source):
            members = [names.get(Signal(one.name, member.variable)) for member in terminal.members]
            shown = [
                member._replace(variable=name)
                for member, name in zip(terminal.members, members, strict=True)
                if name is not None
            ]
            if shown and len(shown) == len(members):
                found.append(terminal._replace(name=f"{one.name}.{terminal.name}", members=tuple(shown)))
    return tuple(found)


def _terminals(sources: Sources, source: str) -> tuple[Terminal, ...]:
    try:
        return tuple(read_terminals(sources.local_path(source)).values())
    except UnusableFile:  # `ssptool validate` reports it
        return ()


def _names(plan: Plan, variables: Sequence[ExportedVariable]) -> Mapping[Signal, str]:
    """Variable of a component → variable of the system with the same value."""
    found = {one.signal: one.name for one in variables}
    arrays = plan.network.arrays
    for wire in (*plan.network.wires, *plan.network.dangling):
        ends = [whole(end, arrays) for end in (wire.source, wire.destination)]
        for inside, outside in (ends, reversed(ends)):
            if outside in found and not outside.component and inside.component and wire.conversion == IDENTITY:
                found.setdefault(inside, found[outside])
    return found


def terminals_xml(terminals: Sequence[Terminal]) -> bytes:
    """Text of the file for FMI 3.0, which is also valid for FMI 2.0."""
    root = etree.Element("fmiTerminalsAndIcons", fmiVersion="3.0")
    parent = etree.SubElement(root, "Terminals")
    for one in terminals:
        kind = {"terminalKind": one.kind} if one.kind else {}
        element = etree.SubElement(parent, "Terminal", {"name": one.name, "matchingRule": one.matching_rule, **kind})
        for tag, attributes in _members(one.members):
            etree.SubElement(element, tag, attributes)
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))


def _members(members: Sequence[TerminalMember]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Members for the file; the two members of a stream are consecutive and become one element."""
    rest = iter(members)
    for one in rest:
        name = {"memberName": one.name} if one.name else {}
        if one.kind != "inStream":
            yield "TerminalMemberVariable", {"variableName": one.variable, **name, "variableKind": one.kind}
            continue
        out = next(rest)
        yield (
            "TerminalStreamMemberVariable",
            {
                "inStreamMemberName": one.name,
                "outStreamMemberName": out.name,
                "inStreamVariableName": one.variable,
                "outStreamVariableName": out.variable,
            },
        )
