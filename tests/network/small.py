"""Small networks for tests of the graph, made without any file."""

from collections.abc import Iterable, Mapping

from ssptool.documents.diagnostics import Position
from ssptool.fmu.description import Causality, FmuDescription, Interface, Variability, Variable
from ssptool.network.network import Experiment, FlatComponent, Network, Port, Signal, Wire
from ssptool.network.signal_graph import SignalGraph, Stage, WiredSignals, active_wires, signal_graph, wired_signals

NOWHERE = Position("")
INFINITY = float("inf")


def signal(text: str) -> Signal:
    """`"Plant.System1.x1"` is the variable x1 of Plant.System1; `"u"` is the root system's own."""
    component, _, variable = text.rpartition(".")
    return Signal(component, variable)


def variable(name: str, causality: str, initial: str | None = None, variability: str = "continuous") -> Variable:
    return Variable(
        name=name,
        reference=0,
        type="Float64",
        causality=Causality(causality),
        variability=Variability(variability),
        initial=initial,
        start=None,
        unit=None,
        nominal=1.0,
        minimum=-INFINITY,
        maximum=INFINITY,
        relative_quantity=False,
        shape=(),
        items={},
        description="",
        derivative_of=None,
        intermediate_update=False,
        line=0,
    )


def component(
    name: str,
    inputs: Iterable[str] = (),
    outputs: Mapping[str, Iterable[str] | None] | Iterable[str] = (),
    *,
    initial_unknowns: Mapping[str, Iterable[str] | None] | None = None,
    parameters: Iterable[str] = (),
    exact: Iterable[str] = (),
) -> FlatComponent:
    """`outputs` as a mapping gives what each depends on (None: undeclared); as names only, nothing is declared."""
    table = {y: None if u is None else frozenset(u) for y, u in outputs.items()} if isinstance(outputs, Mapping) else {}
    start = (
        table
        if initial_unknowns is None
        else {y: None if u is None else frozenset(u) for y, u in initial_unknowns.items()}
    )
    kinds = {
        **dict.fromkeys(inputs, "input"),
        **dict.fromkeys(outputs, "output"),
        **dict.fromkeys(parameters, "parameter"),
    }
    exact = set(exact)
    description = FmuDescription(
        fmi_version="2.0",
        model_name=name,
        token="",
        co_simulation=Interface(name, True, True, True),
        model_exchange=None,
        scheduled_execution=False,
        variables={n: variable(n, kind, "exact" if n in exact else "calculated") for n, kind in kinds.items()},
        units={},
        outputs=table,
        derivatives={},
        initial_unknowns=start,
    )
    ports = tuple(Port(Signal(name, n), kind, "Float64", None, "", NOWHERE) for n, kind in kinds.items())
    return FlatComponent(name, f"resources/{name}.fmu", "any", description, ports, NOWHERE)


def network(components: Iterable[FlatComponent], wires: Iterable[str], ports: Iterable[Port] = ()) -> Network:
    """`wires` like `"System1.x1 -> System2.x1"`."""
    flows = (wire.split(" -> ") for wire in wires)
    return Network(
        name="small",
        components={c.name: c for c in components},
        ports=tuple(ports),
        wires=tuple(Wire(signal(source), signal(destination)) for source, destination in flows),
        assignments={},
        experiment=Experiment(None, None),
    )


def graph_at(network: Network, stage: Stage) -> SignalGraph:
    return signal_graph(wired_signals(network, active_wires(network, stage)), stage)


def graph_of_edges(
    wires: Iterable[tuple[Signal, Signal]],
    feedthrough: Iterable[tuple[Signal, Signal]] = (),
    vertices: Iterable[Signal] = (),
) -> SignalGraph:
    """A graph of these edges, without any network."""
    wires, feedthrough = list(wires), list(feedthrough)
    signals = sorted({*vertices, *(signal for edge in (*wires, *feedthrough) for signal in edge)})
    number = {signal: vertex for vertex, signal in enumerate(signals)}

    def following(edges: Iterable[tuple[Signal, Signal]]) -> list[list[int]]:
        found: list[dict[int, None]] = [{} for _ in signals]
        for source, destination in edges:
            found[number[source]][number[destination]] = None
        return [list(one) for one in found]

    wired = WiredSignals(signals, {}, range(len(signals)), following(wires), [])
    return SignalGraph(wired, following(feedthrough), following([*wires, *feedthrough]), frozenset(), {})


DUAL_MASS_WIRES = (
    "System1.x1 -> System2.x1",
    "System1.v1 -> System2.v1",
    "System1.a1 -> System2.a1",
    "System2.F -> System1.F",
)


def dual_mass(force_depends_on: Iterable[str] | None = ("x1", "v1", "a1")) -> Network:
    """System1: a1 needs F. System2: F needs what the argument says (None: the FMU declares nothing)."""
    system1 = component("System1", ["F"], {"x1": [], "v1": [], "a1": ["F"]})
    system2 = component("System2", ["x1", "v1", "a1"], {"F": force_depends_on})
    return network([system1, system2], DUAL_MASS_WIRES)
