"""Which parts of a system give values to which, FMUs being wholes: far smaller than the graph of all signals."""

from collections.abc import Hashable

from ssptool.network.digraph import Digraph
from ssptool.rules.links import LinkEnd, links
from ssptool.rules.memory import found_once
from ssptool.rules.subjects import Structure


@found_once
def feeding(structure: Structure) -> Digraph[Hashable, None]:
    """Vertices are FMUs, by their components, and the connectors of what is no FMU, by their owners and names."""
    flows = (link.flow for system in structure.root.systems() for link in links(system, structure))
    ends = ((part(flow[0], structure), part(flow[1], structure)) for flow in flows if flow is not None)
    return Digraph((source, destination, None) for source, destination in dict.fromkeys(ends))


def part(end: LinkEnd, structure: Structure) -> Hashable:
    """The vertex that a connector belongs to."""
    return end.owner if structure.fmu_of(end.owner) is not None else (end.owner, end.name)
