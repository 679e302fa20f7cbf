"""Schedule of a run: the evaluation order as kernel calls that set and get several variables at once."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import accumulate, chain, pairwise, product
from typing import NamedTuple, TypeAlias

from ssptool.engine.kernel.calls import Call, LoopCalls, SolveLoop
from ssptool.engine.kernel.solutions import Convergence
from ssptool.engine.planning.events import EventModes
from ssptool.engine.planning.plan import PlannedGroup, PlannedInstance, PlannedLoop, PlannedOde, rounding
from ssptool.engine.planning.slots import SlotTable
from ssptool.engine.trace import holds_integer
from ssptool.network.dependencies import Loop, component_graph, evaluation_order
from ssptool.network.graph_algorithms import cyclic_components, strong_components, topological_order
from ssptool.network.network import Signal, Wire
from ssptool.network.signal_graph import SignalGraph, Stage, active_wires, needs, signal_graph, wired_signals


class Visit(NamedTuple):
    """Set these inputs of one component, then get these outputs; either may be empty. Signals are given as vertices."""

    component: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class ScheduledLoop(NamedTuple):
    """An algebraic loop: from guesses of `torn`, `body` computes all its signals, the torn ones last.

    Signals are given as vertices. `pattern` holds the pairs (i, j) for which torn signal i depends on torn signal j at
    the same instant.
    """

    signals: tuple[int, ...]
    torn: tuple[int, ...]
    body: tuple[Visit, ...]
    pattern: frozenset[tuple[int, int]]


Step: TypeAlias = Visit | ScheduledLoop


def schedule(graph: SignalGraph, order: Iterable[int | Loop], outputs: AbstractSet[int]) -> tuple[Step, ...]:
    """Visits and loops, in an order in which the inputs of each are computed before it.

    Visits at the same depth of the graph are independent of each other. Each component is visited once per depth, which
    keeps the number of calls small.

    Parameters
    ----------
    graph
        Edges inside a component are feedthrough, all others are wires.
    order
        Vertices and loops in evaluation order. Signals of `graph` that are not in it are already known.
    outputs
        The signals that components compute. All others are set.
    """
    return tuple(_Schedule(graph, outputs).steps(order))


def needed_again(graph: SignalGraph, outputs: AbstractSet[int]) -> set[int]:
    """Outputs with direct feedthrough, and the inputs that they depend on.

    After a step all outputs are known for the inputs during it; only these outputs change with the inputs at its end.
    """
    found = set[int]()
    for vertex, others in enumerate(graph.feedthrough):
        if inside := [one for one in others if one in outputs]:
            found.update(inside, (vertex,))
    return found


class _Level(NamedTuple):
    """Vertices at one depth of a graph: computed ones, inputs to set, and loops."""

    computed: list[int]
    others: list[int]
    loops: list[Loop]


class _Schedule:
    """Builder of one schedule; stores the inputs that wait for the next visit of their component."""

    def __init__(self, graph: SignalGraph, outputs: AbstractSet[int]) -> None:
        self.graph = graph
        self.signals = graph.signals
        self.outputs = outputs
        self.waiting: dict[str, list[int]] = {}

    def steps(self, order: Iterable[int | Loop]) -> Iterator[Step]:
        for level in self._levels(order):
            yield from self._visits(level.computed)
            for loop in level.loops:
                yield self._loop(loop)
            # After the loops, because the inputs of this level may come from them.
            self._wait(level.others)
        yield from self._rest()

    def _levels(self, order: Iterable[int | Loop]) -> Iterable[_Level]:
        """Vertices by depth: inputs have the depth of their source; outputs and loops are one deeper than everything
        they need.
        """
        after, outputs = self.graph.after, self.outputs
        needed: dict[int, int] = {}  # depth of the deepest signal that a vertex needs
        known = needed.get
        levels: dict[int, _Level] = defaultdict(lambda: _Level([], [], []))
        reached: Iterable[int]
        for one in order:
            if isinstance(one, Loop):
                depth = max(known(vertex, -1) for vertex in one.vertices) + 1
                levels[depth].loops.append(one)
                reached = chain.from_iterable(after[vertex] for vertex in one.vertices)
            elif one in outputs:
                depth, reached = known(one, -1) + 1, after[one]
                levels[depth].computed.append(one)
            else:
                depth, reached = known(one, 0), after[one]
                levels[depth].others.append(one)
            for other in reached:
                if known(other, -1) < depth:
                    needed[other] = depth
        return [levels[depth] for depth in sorted(levels)]

    def _visits(self, vertices: Iterable[int]) -> Iterator[Visit]:
        """One visit for each component that computes some of `vertices`, with all its waiting inputs."""
        computed: dict[str, list[int]] = {}
        for vertex in vertices:
            computed.setdefault(self.signals[vertex].component, []).append(vertex)
        for component, outputs in computed.items():
            yield Visit(component, tuple(self.waiting.pop(component, ())), tuple(outputs))

    def _wait(self, vertices: Iterable[int]) -> None:
        """Let inputs wait for the next visit of their component."""
        for vertex in vertices:
            self.waiting.setdefault(self.signals[vertex].component, []).append(vertex)

    def _rest(self) -> Iterator[Visit]:
        """Visits for inputs on which no output depends."""
        for component in list(self.waiting):
            yield Visit(component, tuple(self.waiting.pop(component)), ())

    def _loop(self, loop: Loop) -> ScheduledLoop:
        body = _Schedule(self.graph, self.outputs)
        # Inputs of this loop's components that still wait are set by their first visit inside of the loop.
        for component in dict.fromkeys(self.signals[vertex].component for vertex in loop.vertices):
            if component in self.waiting:
                body.waiting[component] = self.waiting.pop(component)
        return ScheduledLoop(loop.vertices, loop.torn, tuple(body._body(loop)), _pattern(self.graph, loop))

    def _body(self, loop: Loop) -> Iterator[Visit]:
        torn = set(loop.torn)
        # Torn vertices are guessed, so nothing becomes deeper because of them.
        for level in self._levels(vertex for vertex in loop.vertices if vertex not in torn):
            yield from self._visits(level.computed)
            self._wait(level.others)
        last = list(self._visits(vertex for vertex in loop.torn if vertex in self.outputs))
        # A torn signal loses its guess when it is computed, so later visits that need the guess set it before.
        for visit in last[1:]:
            if visit.inputs:
                yield Visit(visit.component, visit.inputs, ())
        yield from self._rest()
        yield from last[:1]
        yield from (Visit(visit.component, (), visit.outputs) for visit in last[1:])


def _pattern(graph: SignalGraph, loop: Loop) -> frozenset[tuple[int, int]]:
    index = {vertex: number for number, vertex in enumerate(loop.torn)}
    members = set(loop.vertices)
    pairs: set[tuple[int, int]] = set()
    for vertex, column in index.items():
        reached: set[int] = set()
        frontier = [vertex]
        while frontier:
            for other in graph.after[frontier.pop()]:
                if other in members and other not in reached:
                    reached.add(other)
                    # Beyond another torn signal, its guess counts, not the signals that it depends on.
                    if other not in index:
                        frontier.append(other)
        pairs.update((index[found], column) for found in reached if found in index)
    return frozenset(pairs)


LOOP_CONVERGENCE = Convergence(rtol=1e-12)
"""Convergence of algebraic loops: strict, because every recorded row contains the remaining residual."""

CHORD_ITERATIONS = 20
"""Largest number of chord iterations of a loop within a schedule; if more are needed, the chord is out of date."""


class _Evaluation(NamedTuple):
    """The graph of a stage with these wires, its evaluation order, and facts about its vertices.

    `slots` are those of each vertex in a component, `outputs` the vertices that components compute.
    """

    wires: Sequence[Wire]
    graph: SignalGraph
    order: Sequence[int | Loop]
    slots: Sequence[Sequence[int]]
    outputs: AbstractSet[int]

    @property
    def inside(self) -> list[int | Loop]:
        """The order of the signals of components that have slots; the system's own inputs and outputs are neither set
        nor computed.
        """
        slots = self.slots
        return [one for one in self.order if slots[one if isinstance(one, int) else one.vertices[0]]]

    def slots_of(self, vertices: Iterable[int]) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self.slots.__getitem__, vertices)))


class Schedules:
    """Builder of schedules as kernel calls; collects the loops that they refer to."""

    def __init__(self, table: SlotTable, instances: Sequence[PlannedInstance], exchange: Sequence[str]) -> None:
        self.table = table
        self.instances = instances
        self.exchange = tuple(exchange)
        self.index = {one.name: number for number, one in enumerate(instances)}
        self.loops: list[PlannedLoop] = []
        self._whole: _Evaluation | None = None

    @cached_property
    def readers(self) -> Mapping[Signal, Sequence[Wire]]:
        """The wires that start at each signal."""
        readers: dict[Signal, list[Wire]] = defaultdict(list)
        for wire in self.table.flow.wires:
            readers[wire.source].append(wire)
        return readers

    @cached_property
    def _outputs(self) -> frozenset[Signal]:
        every, whole = frozenset[Signal]().union(*(one.outputs for one in self.instances)), self.table.whole
        return frozenset(whole.get(signal, signal) for signal in every) if whole else every

    def initialization(self) -> tuple[Call | SolveLoop, ...]:
        known = self._evaluation(Stage.INITIALIZATION)
        return self._calls(schedule(known.graph, known.inside, known.outputs), known, Stage.INITIALIZATION)

    def groups(self) -> tuple[PlannedGroup, ...]:
        known = self._evaluation(Stage.COMMUNICATION)
        graph, signals = known.graph, known.graph.signals
        # A step of its components does not deliver what an ODE computes, so all of it is evaluated.
        needed = needed_again(graph, known.outputs)
        if self.exchange:
            needed.update(vertex for vertex, signal in enumerate(signals) if signal.component in self.exchange)
        groups = self._group_order()
        place = {name: number for number, names in enumerate(groups) for name in names}
        parts: dict[int, list[int | Loop]] = defaultdict(list)
        for one in known.inside:
            if one in needed or (isinstance(one, Loop) and not needed.isdisjoint(one.vertices)):
                parts[place[signals[one if isinstance(one, int) else one.vertices[0]].component]].append(one)
        found: list[PlannedGroup] = []
        stepped: set[str] = set()
        for number, names in enumerate(groups):
            calls = self._calls(schedule(graph, parts[number], known.outputs), known, Stage.COMMUNICATION)
            found.append(self._group(names, calls, stepped))
        return tuple(found)

    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Cycles of mutually coupled components; the components of an ODE count as one."""
        flow, inside = self._flow(), set(self.exchange)
        return tuple(sorted(tuple(sorted(part)) for part in cyclic_components(flow) if not inside.issuperset(part)))

    def ode(self, events: EventModes) -> PlannedOde | None:
        """The ODE: given the states, every output and every wired input of the components of model exchange."""
        if not self.exchange:
            return None
        inside = set(self.exchange)
        known = self._evaluation_of(inside, Stage.CONTINUOUS)
        calls = self._calls(schedule(known.graph, known.inside, known.outputs), known, Stage.CONTINUOUS)
        sources, slots = self.table.sources, self.table.slots
        fed = [s for name in self.exchange for s in self.instances[self.index[name]].inputs if s in sources]
        inputs = tuple(slots[signal] for signal in fed if sources[signal].source.component not in inside)
        wired = frozenset(self.table.whole.get(source, source) for s in fed if (source := sources[s].source))
        needed = frozenset(chain.from_iterable(map(self.table.slots_of, wired)))
        indices = tuple(self.index[name] for name in self.exchange)
        alone = len(indices) == len(self.instances)
        ends = not alone and all(one.capabilities.varies_step for one in self.instances)
        return PlannedOde(indices, calls, tuple(_without(calls, needed)), inputs, alone, events, ends)

    def stepped(self, ode: PlannedOde | None) -> tuple[PlannedGroup, ...]:
        """The groups of a system; a system that consists of one ODE is a single group."""
        if ode is None or not ode.alone:
            return self.groups()
        return (PlannedGroup((ode.instances,), ode.schedule, (), (False,), (True,)),)

    def _evaluation(self, stage: Stage) -> _Evaluation:
        """The graph of a stage without clocks and without outputs that are constant between events, which depend on
        nothing. Stages with the same edges share it.
        """
        wires, still, last = active_wires(self.table.flow, stage), self.table.still, self._whole
        if last is not None and last.wires is wires:
            wired = last.graph.wired
        else:
            wired = wired_signals(self.table.flow, wires, (lambda signal: signal not in still) if still else None)
        graph = signal_graph(wired, stage, None if last is None else last.graph)
        if last is None or last.graph is not graph:
            self._whole = last = self._evaluated(wires, graph)
        return last

    def _evaluation_of(self, components: AbstractSet[str], stage: Stage) -> _Evaluation:
        """The graph of a stage for some components only."""
        wires, still = active_wires(self.table.flow, stage), self.table.still
        wired = wired_signals(
            self.table.flow, wires, lambda signal: signal.component in components and signal not in still
        )
        return self._evaluated(wires, signal_graph(wired, stage))

    def _evaluated(self, wires: Sequence[Wire], graph: SignalGraph) -> _Evaluation:
        known = self._outputs
        outputs = {vertex for vertex, signal in enumerate(graph.signals) if signal in known}
        return _Evaluation(wires, graph, evaluation_order(graph), self.table.of_components(graph.signals), outputs)

    def _group_order(self) -> list[tuple[str, ...]]:
        """The strong components of the signal flow, in the order of the flow; ties follow the order of the
        instances.
        """
        flow, index = self._flow(), self.index
        parts = {min(map(index.__getitem__, part)): part for part in strong_components(flow)}
        part_of = {name: number for number, part in parts.items() for name in part}
        after = {
            number: {part_of[other] for name in part for other in flow[name]} - {number}
            for number, part in parts.items()
        }
        return [tuple(sorted(parts[number], key=index.__getitem__)) for number in topological_order(after)]

    def _flow(self) -> dict[str, dict[str, None]]:
        """Graph of the signal flow between components over a step. Wires into components that only delay are left out.
        The components of an ODE form a cycle, so they stay together.
        """
        delays = {name for name, one in self.table.network.components.items() if one.delays}
        graph = component_graph(self.table.flow)
        flow = {name: {one: None for one in fed if one not in delays} for name, fed in graph.items()}
        for one, other in pairwise((*self.exchange, *self.exchange[:1])):
            flow[one][other] = None
        return flow

    def _group(self, names: tuple[str, ...], calls: tuple[Call | SolveLoop, ...], stepped: set[str]) -> PlannedGroup:
        sources, slots, inside = self.table.sources, self.table.slots, set(names)
        unknowns: list[int] = []
        interpolates: list[bool] = []
        passes_on: list[bool] = []
        members = self._members(names)
        for member in members:
            own = set(member) & set(self.exchange)
            coupled, done = inside - own, stepped | own
            inputs = [signal for name in member for signal in self.instances[self.index[name]].inputs]
            feeding = [(signal, sources[signal].source.component) for signal in inputs if signal in sources]
            unknowns += [
                slots[signal]
                for signal, source in feeding
                if source in coupled and not holds_integer(self.table.kind(signal))
            ]
            interpolates.append(done.issuperset(source for _, source in feeding if source))
            passes_on.append(any(map(self._passes_on, member)))
            stepped |= set(member)
        indices = tuple(tuple(map(self.index.__getitem__, member)) for member in members)
        return PlannedGroup(indices, calls, tuple(unknowns), tuple(interpolates), tuple(passes_on))

    def _passes_on(self, name: str) -> bool:
        """True if an output of a component depends directly on a wired input."""
        instance, component = self.instances[self.index[name]], self.table.network.components[name]
        wired, whole = set(instance.wired), self.table.whole
        outputs = {whole.get(output, output).variable for output in instance.outputs}
        needed = (needs(component, output, Stage.COMMUNICATION) for output in outputs)
        return any(bool(wired) if found is None else not wired.isdisjoint(found) for found in needed)

    def _members(self, names: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Single components, then the ODE as the last one: it makes the best use of inputs that are known over the
        whole step.
        """
        singles = [(name,) for name in names if name not in self.exchange]
        return singles + ([self.exchange] if self.exchange and self.exchange[0] in names else [])

    def _calls(self, steps: Iterable[Step], known: _Evaluation, stage: Stage) -> tuple[Call | SolveLoop, ...]:
        calls: list[Call | SolveLoop] = []
        for step in steps:
            if isinstance(step, Visit):
                calls.append(self._call(step, known))
            else:
                calls.append(SolveLoop(len(self.loops)))
                self.loops.append(self._loop(step, known, stage))
        return tuple(calls)

    def _pattern(self, loop: ScheduledLoop, real: Collection[int], known: _Evaluation) -> frozenset[tuple[int, int]]:
        """Pattern of the unknowns by elements: a dependency between two arrays applies to all their elements."""
        sizes = [len(known.slots[vertex]) if vertex in real else 0 for vertex in loop.torn]
        places = [range(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
        return frozenset(chain.from_iterable(product(places[i], places[j]) for i, j in loop.pattern))

    def _call(self, visit: Visit, known: _Evaluation) -> Call:
        """Kernel call of a visit; arrays are set and got as a whole."""
        inputs, outputs = known.slots_of(visit.inputs), known.slots_of(visit.outputs)
        return Call(self.index[visit.component], inputs, outputs)

    def _bounds(self, output: Signal) -> tuple[float, float]:
        """Bounds of an output: its own range, and the ranges of the inputs that it feeds."""
        variables = {name: one.description.variables for name, one in self.table.network.components.items()}
        own = variables[output.component][output.variable]
        low, high = own.minimum, own.maximum
        for wire in self.readers[output]:
            if wire.destination.component and (factor := wire.conversion.factor):
                its = variables[wire.destination.component][wire.destination.variable]
                ends = ((bound - wire.conversion.offset) / factor for bound in (its.minimum, its.maximum))
                least, most = sorted(ends)
                low, high = max(low, least), min(high, most)
        # If ranges exclude each other, no value can satisfy them.
        return (low, high) if low <= high else (own.minimum, own.maximum)

    def _loop(self, loop: ScheduledLoop, known: _Evaluation, stage: Stage) -> PlannedLoop:
        signals = tuple(known.graph.signals[vertex] for vertex in loop.signals)
        kinds = {vertex: self.table.kind(signal) for vertex, signal in zip(loop.signals, signals, strict=True)}
        real = [vertex for vertex in loop.torn if not holds_integer(kinds[vertex])]
        torn, frozen = known.slots_of(real), known.slots_of(vertex for vertex in loop.torn if vertex not in real)
        unknowns = tuple(self.table.signals[slot] for slot in torn)
        bounds = [self._bounds(signal) for signal in unknowns]
        single = "Float32" in kinds.values()
        components = dict.fromkeys(signal.component for signal in signals)
        instances = [self.instances[self.index[name]] for name in components]
        able = all(one.capabilities.directional_derivatives for one in instances)
        calls = LoopCalls(
            torn=torn,
            body=tuple(self._call(visit, known) for visit in loop.body),
            nominal=tuple(self.table.nominal[slot] for slot in torn),
            rtol=max(LOOP_CONVERGENCE.rtol, 4 * rounding(single)),
            atol=LOOP_CONVERGENCE.atol,
            max_iterations=CHORD_ITERATIONS,
            frozen=frozen,
            minimum=tuple(low for low, _ in bounds),
            maximum=tuple(high for _, high in bounds),
            pattern=self._pattern(loop, real, known),
            directional=able and _visits_are_whole(loop, known.graph) and not single,
            rounding=rounding(single),
        )
        return PlannedLoop(
            stage=stage,
            calls=calls,
            signals=signals,
            torn=unknowns,
            frozen=tuple(self.table.signals[slot] for slot in frozen),
            single=single,
        )


def _without(calls: Iterable[Call | SolveLoop], needed: AbstractSet[int]) -> Iterator[Call | SolveLoop]:
    """The calls without outputs that are not needed."""
    for call in calls:
        if isinstance(call, SolveLoop):
            yield call
            continue
        outputs = tuple(slot for slot in call.outputs if slot in needed)
        if call.inputs or outputs:
            yield call._replace(outputs=outputs)


def _visits_are_whole(loop: ScheduledLoop, graph: SignalGraph) -> bool:
    """True if each visit sets all inputs of the loop that its outputs need, as products of derivatives along the visits
    require.
    """
    needed: dict[int, set[int]] = defaultdict(set)
    for vertex in loop.signals:
        for other in graph.after[vertex]:
            if graph.signals[other].component == graph.signals[vertex].component:
                needed[other].add(vertex)
    return all(needed[output].issubset(visit.inputs) for visit in loop.body for output in visit.outputs)
