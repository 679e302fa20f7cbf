"""Schedule of a run: evaluation order as few kernel calls that set and get several variables at once."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain, pairwise, product
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ssptool.engine.kernel.interface import Call, LoopCalls, SolveLoop, holds_integer
from ssptool.engine.kernel.solutions import Convergence
from ssptool.engine.planning.events import EventModes
from ssptool.engine.planning.plan import PlannedGroup, PlannedInstance, PlannedLoop, PlannedOde, rounding
from ssptool.engine.planning.slots import SlotTable
from ssptool.network.dependencies import (
    Block,
    DependencyGraph,
    Stage,
    component_cycles,
    component_graph,
    dependency_graph,
    evaluation_order,
)
from ssptool.network.graph_algorithms import cyclic_components, induced
from ssptool.network.network import Signal, Wire

if TYPE_CHECKING:
    from networkx import DiGraph

Graph: TypeAlias = DependencyGraph


class Visit(NamedTuple):
    """Set these inputs of one component, then get these outputs; either may be empty."""

    component: str
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]


class ScheduledLoop(NamedTuple):
    """An algebraic loop: from guesses of `torn`, `body` computes all its signals, those that are torn last.

    `pattern` holds the pairs (i, j) for which torn signal i depends on torn signal j at the same instant.
    """

    signals: tuple[Signal, ...]
    torn: tuple[Signal, ...]
    body: tuple[Visit, ...]
    pattern: frozenset[tuple[int, int]]

    @property
    def components(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(signal.component for signal in self.signals))


Step: TypeAlias = Visit | ScheduledLoop


def schedule(graph: Graph, blocks: Sequence[Block], outputs: AbstractSet[Signal]) -> tuple[Step, ...]:
    """Visits and loops in an order in which each finds its inputs computed.

    Visits at the same depth of the graph are independent of each other, and one component is visited once per
    depth: that keeps calls few.

    Parameters
    ----------
    graph
        Dependency graph; edges inside a component are feedthrough, all others wires.
    blocks
        Blocks to evaluate, in evaluation order. Signals of `graph` that are in no block are known already.
    outputs
        The signals that components compute. All others are set.
    """
    return tuple(_Schedule(graph, outputs).steps(blocks))


def needed_again(graph: Graph, outputs: AbstractSet[Signal]) -> set[Signal]:
    """Outputs that depend on an input at the same instant, and these inputs.

    After a step all outputs are known for the inputs during it; only these change with the inputs at its end.
    """
    ends = [ends for ends in graph.edges() if ends[1] in outputs and ends[0].component == ends[1].component]
    return {signal for pair in ends for signal in pair}


class _Schedule:
    """Builds one schedule; remembers which inputs wait for their component's next visit."""

    def __init__(self, graph: Graph, outputs: AbstractSet[Signal]) -> None:
        self.graph = graph
        self.outputs = outputs
        self.waiting: dict[str, list[Signal]] = {}

    def steps(self, blocks: Sequence[Block]) -> Iterator[Step]:
        depth: dict[Signal, int] = {}
        levels: dict[int, list[Block]] = {}
        for block in blocks:
            level = self._depth(block, depth)
            depth.update(dict.fromkeys(block.signals, level))
            levels.setdefault(level, []).append(block)
        for level in sorted(levels):
            singles = [block.signals[0] for block in levels[level] if not block.is_loop]
            yield from self._visits(singles)
            for block in levels[level]:
                if block.is_loop:
                    yield self._loop(block)
            # Only now: the inputs of this level may come from its loops.
            self._wait(singles)
        yield from self._rest()

    def _depth(self, block: Block, depth: Mapping[Signal, int]) -> int:
        """Inputs are as deep as their source, outputs and loops one deeper than what they need."""
        # None of the block's own signals has a depth yet.
        needed = chain.from_iterable(map(self.graph.pred.__getitem__, block.signals))
        deepest = max([depth[source] for source in needed if source in depth], default=-1)
        return deepest + 1 if block.is_loop or block.signals[0] in self.outputs else max(deepest, 0)

    def _visits(self, signals: Iterable[Signal]) -> Iterator[Visit]:
        """One visit per component that computes some of `signals`, with all inputs that it waits for."""
        computed: dict[str, list[Signal]] = {}
        for signal in signals:
            if signal in self.outputs:
                computed.setdefault(signal.component, []).append(signal)
        for component, outputs in computed.items():
            yield Visit(component, tuple(self.waiting.pop(component, ())), tuple(outputs))

    def _wait(self, signals: Iterable[Signal]) -> None:
        """The inputs among `signals` wait for the next visit of their component."""
        for signal in signals:
            if signal not in self.outputs:
                self.waiting.setdefault(signal.component, []).append(signal)

    def _rest(self) -> Iterator[Visit]:
        """Inputs on which no output depends."""
        for component in list(self.waiting):
            yield Visit(component, tuple(self.waiting.pop(component)), ())

    def _loop(self, block: Block) -> ScheduledLoop:
        torn = set(block.torn)
        inner = induced(self.graph, block.signals)
        pattern = _pattern(inner, block.torn)
        guessed = inner.copy()
        guessed.remove_edges_from([edge for edge in inner.edges() if edge[0] in torn])
        body = _Schedule(guessed, self.outputs)
        # What this loop's components still wait for is set by their first visit inside.
        for component in dict.fromkeys(signal.component for signal in block.signals):
            if component in self.waiting:
                body.waiting[component] = self.waiting.pop(component)
        visits = list(body._body([signal for signal in block.signals if signal not in torn], block.torn))
        return ScheduledLoop(block.signals, block.torn, tuple(visits), pattern)

    def _body(self, signals: Sequence[Signal], torn: Sequence[Signal]) -> Iterator[Visit]:
        depth: dict[Signal, int] = {}
        levels: dict[int, list[Signal]] = {}
        for signal in signals:
            depth[signal] = self._depth(Block((signal,)), depth)
            levels.setdefault(depth[signal], []).append(signal)
        for level in sorted(levels):
            yield from self._visits(levels[level])
            self._wait(levels[level])
        last = list(self._visits(torn))
        # Once a torn signal is computed its guess is gone, so what later visits take from guesses is set
        # before.
        for visit in last[1:]:
            if visit.inputs:
                yield Visit(visit.component, visit.inputs, ())
        yield from self._rest()
        yield from last[:1]
        yield from (Visit(visit.component, (), visit.outputs) for visit in last[1:])


def _pattern(inner: Graph, torn: Sequence[Signal]) -> frozenset[tuple[int, int]]:
    index = {signal: number for number, signal in enumerate(torn)}
    pairs: set[tuple[int, int]] = set()
    for signal, column in index.items():
        reached: set[Signal] = set()
        frontier = [signal]
        while frontier:
            for destination in inner.successors(frontier.pop()):
                if destination not in reached:
                    reached.add(destination)
                    # Beyond another torn signal its guess counts, not what reaches it.
                    if destination not in index:
                        frontier.append(destination)
        pairs.update((index[found], column) for found in reached if found in index)
    return frozenset(pairs)


LOOP_CONVERGENCE = Convergence(rtol=1e-12)
"""Convergence of algebraic loops: tight, because whatever is left of a residual is in every recorded row."""

CHORD_ITERATIONS = 20
"""Largest number of chord iterations of a loop within a schedule; a chord that needs more is out of date."""


class Schedules:
    """Schedules as kernel calls; collects the loops that they refer to."""

    def __init__(self, table: SlotTable, instances: Sequence[PlannedInstance], exchange: Sequence[str]) -> None:
        self.table = table
        self.instances = instances
        self.exchange = tuple(exchange)
        self.index = {one.name: number for number, one in enumerate(instances)}
        every = chain.from_iterable(one.outputs for one in instances)
        self.outputs = frozenset(table.whole.get(signal, signal) for signal in every)
        self.loops: list[PlannedLoop] = []
        self.readers: dict[Signal, list[Wire]] = defaultdict(list)
        for wire in table.flow.wires:
            self.readers[wire.source].append(wire)

    def initialization(self) -> tuple[Call | SolveLoop, ...]:
        graph = self._graph(Stage.INITIALIZATION)
        blocks = [block for block in evaluation_order(graph) if self._inside(block)]
        return self._calls(schedule(graph, blocks, self.outputs), graph, Stage.INITIALIZATION)

    def groups(self) -> tuple[PlannedGroup, ...]:
        graph = self._graph(Stage.COMMUNICATION)
        # What an ODE computes is not delivered by a step of its components, so all of it is asked for.
        needed = needed_again(graph, self.outputs) | {signal for signal in graph if signal.component in self.exchange}
        order = self._group_order()
        place = {name: number for number, names in enumerate(order) for name in names}
        blocks: dict[int, list[Block]] = defaultdict(list)
        for block in evaluation_order(graph):
            if self._inside(block) and not needed.isdisjoint(block.signals):
                blocks[place[block.signals[0].component]].append(block)
        groups: list[PlannedGroup] = []
        stepped: set[str] = set()
        for number, names in enumerate(order):
            steps = schedule(graph, blocks[number], self.outputs)
            calls = self._calls(steps, graph, Stage.COMMUNICATION)
            groups.append(self._group(names, calls, stepped))
        return tuple(groups)

    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Components that are mutually coupled, those of an ODE being as one."""
        if not self.exchange:
            return component_cycles(self.table.flow)
        flow, inside = self._flow(), set(self.exchange)
        return tuple(sorted(tuple(sorted(part)) for part in cyclic_components(flow.adj) if not inside.issuperset(part)))

    def ode(self, events: EventModes) -> PlannedOde | None:
        """The ODE: given the states, every output and every wired input of the components of model exchange."""
        if not self.exchange:
            return None
        inside = set(self.exchange)
        whole = self._graph(Stage.CONTINUOUS)
        graph = induced(whole, [signal for signal in whole if signal.component in inside])
        blocks = [block for block in evaluation_order(graph) if self._inside(block)]
        calls = self._calls(schedule(graph, blocks, self.outputs), graph, Stage.CONTINUOUS)
        sources, slots = self.table.sources, self.table.slots
        fed = [s for name in self.exchange for s in self.instances[self.index[name]].inputs if s in sources]
        inputs = tuple(slots[signal] for signal in fed if sources[signal].source.component not in inside)
        wired = frozenset(self.table.whole.get(source, source) for s in fed if (source := sources[s].source))
        needed = frozenset(chain.from_iterable(map(self.table.slots_of, wired)))
        indices = tuple(self.index[name] for name in self.exchange)
        alone = len(indices) == len(self.instances)
        return PlannedOde(indices, calls, tuple(_without(calls, needed)), inputs, alone, events)

    def stepped(self, ode: PlannedOde | None) -> tuple[PlannedGroup, ...]:
        """The groups of a system; one that is nothing but an ODE is a single group."""
        if ode is None or not ode.alone:
            return self.groups()
        return (PlannedGroup((ode.instances,), ode.schedule, (), (False,)),)

    def _graph(self, stage: Stage) -> DependencyGraph:
        """Dependency graph without clocks and without outputs that do not change between events: these depend on
        nothing.
        """
        graph = dependency_graph(self.table.flow, stage)
        still = self.table.still
        return induced(graph, [signal for signal in graph if signal not in still]) if still else graph

    def _inside(self, block: Block) -> bool:
        """Signals of components that have slots; the system's own inputs and outputs are neither set nor
        computed.
        """
        return bool(block.signals[0].component) and bool(self.table.slots_of(block.signals[0]))

    def _group_order(self) -> list[tuple[str, ...]]:
        from networkx import condensation, lexicographical_topological_sort

        parts = condensation(self._flow())
        members = {part: attributes["members"] for part, attributes in parts.nodes.items()}
        order = lexicographical_topological_sort(parts, lambda part: min(self.index[name] for name in members[part]))
        return [tuple(sorted(members[part], key=self.index.__getitem__)) for part in order]

    def _flow(self) -> "DiGraph[str]":
        """Graph of the signal flow between components; those of an ODE form a cycle, so they stay together."""
        flow = component_graph(self.table.flow)
        for one, other in pairwise((*self.exchange, *self.exchange[:1])):
            flow.add_edge(one, other)
        return flow

    def _group(self, names: tuple[str, ...], calls: tuple[Call | SolveLoop, ...], stepped: set[str]) -> PlannedGroup:
        sources, slots, inside = self.table.sources, self.table.slots, set(names)
        unknowns: list[int] = []
        interpolates: list[bool] = []
        members = self._members(names)
        for member in members:
            own = set(member) & set(self.exchange)
            inputs = [signal for name in member for signal in self.instances[self.index[name]].inputs]
            feeding = {signal: sources[signal].source.component for signal in inputs if signal in sources}
            unknowns += [
                slots[signal]
                for signal, source in feeding.items()
                if source in inside - own and not holds_integer(self.table.kind(signal))
            ]
            interpolates.append(all(source == "" or source in stepped | own for source in feeding.values()))
            stepped |= set(member)
        indices = tuple(tuple(map(self.index.__getitem__, member)) for member in members)
        return PlannedGroup(indices, calls, tuple(unknowns), tuple(interpolates))

    def _members(self, names: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Single components, and last an ODE: it can make the most of inputs that are known over the whole step."""
        singles = [(name,) for name in names if name not in self.exchange]
        return singles + ([self.exchange] if self.exchange and self.exchange[0] in names else [])

    def _calls(self, steps: Iterable[Step], graph: Graph, stage: Stage) -> tuple[Call | SolveLoop, ...]:
        calls: list[Call | SolveLoop] = []
        for step in steps:
            if isinstance(step, Visit):
                calls.append(self._call(step))
            else:
                calls.append(SolveLoop(len(self.loops)))
                self.loops.append(self._loop(step, graph, stage))
        return tuple(calls)

    def _pattern(self, loop: ScheduledLoop, real: Sequence[Signal]) -> frozenset[tuple[int, int]]:
        """Pattern of the unknowns, by elements: a dependency between two arrays holds between all their elements."""
        sizes = [len(self.table.slots_of(signal)) if signal in real else 0 for signal in loop.torn]
        places = [range(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
        return frozenset(chain.from_iterable(product(places[i], places[j]) for i, j in loop.pattern))

    def _call(self, visit: Visit) -> Call:
        """Arrays are set and got as a whole."""
        inputs, outputs = self._slots(visit.inputs), self._slots(visit.outputs)
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
        # No value keeps ranges that exclude each other.
        return (low, high) if low <= high else (own.minimum, own.maximum)

    def _slots(self, signals: Iterable[Signal]) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self.table.slots_of, signals)))

    def _loop(self, loop: ScheduledLoop, graph: Graph, stage: Stage) -> PlannedLoop:
        real = [signal for signal in loop.torn if not holds_integer(self.table.kind(signal))]
        torn, frozen = self._slots(real), self._slots(signal for signal in loop.torn if signal not in real)
        unknowns = tuple(self.table.signals[slot] for slot in torn)
        bounds = [self._bounds(signal) for signal in unknowns]
        single = any(self.table.kind(signal) == "Float32" for signal in loop.signals)
        instances = [self.instances[self.index[name]] for name in loop.components]
        able = all(one.capabilities.directional_derivatives for one in instances)
        calls = LoopCalls(
            torn=torn,
            body=tuple(self._call(visit) for visit in loop.body),
            nominal=tuple(self.table.nominal[slot] for slot in torn),
            rtol=max(LOOP_CONVERGENCE.rtol, 4 * rounding(single)),
            atol=LOOP_CONVERGENCE.atol,
            max_iterations=CHORD_ITERATIONS,
            frozen=frozen,
            minimum=tuple(low for low, _ in bounds),
            maximum=tuple(high for _, high in bounds),
            pattern=self._pattern(loop, real),
            directional=able and _visits_are_whole(loop, graph) and not single,
            rounding=rounding(single),
        )
        return PlannedLoop(
            stage=stage,
            calls=calls,
            signals=loop.signals,
            torn=unknowns,
            frozen=tuple(self.table.signals[slot] for slot in frozen),
            single=single,
        )


def _without(calls: Iterable[Call | SolveLoop], needed: AbstractSet[int]) -> Iterator[Call | SolveLoop]:
    """The calls, but for outputs that are not needed."""
    for call in calls:
        if isinstance(call, SolveLoop):
            yield call
            continue
        outputs = tuple(slot for slot in call.outputs if slot in needed)
        if call.inputs or outputs:
            yield call._replace(outputs=outputs)


def _visits_are_whole(loop: ScheduledLoop, graph: Graph) -> bool:
    """Each visit sets all inputs of the loop that its outputs need, as a product along the visits assumes."""
    members = set(loop.signals)
    for visit in loop.body:
        for output in visit.outputs:
            needed = {s for s in graph.predecessors(output) if s in members and s.component == visit.component}
            if not needed.issubset(visit.inputs):
                return False
    return True
