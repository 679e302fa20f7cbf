"""A system graph as JSON."""

import json
from typing import Any

from ssptool.network.cycles import AlgebraicLoop, ComponentCycle
from ssptool.network.dependencies import Need
from ssptool.network.network import Component
from ssptool.network.signals import Wire
from ssptool.network.system_graph import SystemGraph


def graph_json(graph: SystemGraph) -> str:
    """Names of signals are strings; everything is in the order of the text form."""
    content = {
        "name": graph.network.name,
        "stage": graph.stage.value,
        "components": [_component(component) for component in graph.network.components.values()],
        "tables": [
            {"name": one.name, "source": one.source, "outputs": [str(signal) for signal in one.outputs]}
            for one in graph.network.tables.values()
        ],
        "wires": [_wire(wire) for wire in graph.network.wires],
        "feedthrough": [
            {"input": str(edge.source), "output": str(edge.destination), "declared": edge.declared}
            for edge in graph.feedthrough
        ],
        "cycles": [_cycle(cycle) for cycle in graph.cycles],
        "order": [
            {"signals": [str(s) for s in block.signals], "torn": [str(s) for s in block.torn]} for block in graph.order
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def _component(component: Component) -> dict[str, Any]:
    ports = [{"name": p.signal.variable, "kind": p.kind, "type": p.type, "unit": p.unit} for p in component.ports]
    return {
        "name": component.name,
        "source": component.source,
        "fmiVersion": component.description.fmi_version,
        "connectors": ports,
    }


def _wire(wire: Wire) -> dict[str, Any]:
    return {
        "source": str(wire.source),
        "destination": str(wire.destination),
        "factor": wire.conversion.factor,
        "offset": wire.conversion.offset,
        "table": [list(pair) for pair in wire.conversion.table],
    }


def _cycle(cycle: ComponentCycle) -> dict[str, Any]:
    return {
        "components": list(cycle.components),
        "algebraicLoops": [_loop(loop) for loop in cycle.loops],
        "brokenBy": [{"output": str(i.output), "input": str(i.input)} for i in cycle.broken_by],
    }


def _loop(loop: AlgebraicLoop) -> dict[str, Any]:
    return {
        "outputs": [str(signal) for signal in loop.outputs],
        "torn": [str(signal) for signal in loop.block.torn],
        "closedBy": [
            {
                "source": str(e.source),
                "destination": str(e.destination),
                "kind": "wire" if e.need is Need.WIRE else "feedthrough",
                "declared": e.declared,
            }
            for e in loop.closed_by
        ],
    }
