"""Evaluation orders as the calls of a kernel."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain, pairwise, product

from ssptool.engine.cells import holds_integer
from ssptool.engine.event_mode.planned import EventModes
from ssptool.engine.kernel.interface import Call, LoopCalls, SolveLoop
from ssptool.engine.loops.solution import Convergence
from ssptool.engine.plan import PlannedGroup, PlannedInstance, PlannedLoop, PlannedOde, rounding
from ssptool.engine.schedule import Graph, Loop, Step, Visit, needed_again, sweep
from ssptool.engine.slot_table import SlotTable
from ssptool.network.blocks import Block, evaluation_order
from ssptool.network.cycles import component_cycles, component_graph
from ssptool.network.dependencies import DependencyGraph, Stage, dependency_graph
from ssptool.network.digraph import Digraph, condensation, strong_components, topological_order
from ssptool.network.signals import Signal, Wire

LOOP_CONVERGENCE = Convergence(rtol=1e-12)
"""Of algebraic loops: tight, because whatever is left of a residual is in every recorded row."""

CHORD_ITERATIONS = 20
"""Of a loop within a sweep; a chord that needs more is out of date."""


class Schedules:
    """Sweeps as kernel calls; collects the loops that they refer to."""

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
        return self._calls(sweep(graph, blocks, self.outputs), graph, Stage.INITIALIZATION)

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
            steps = sweep(graph, blocks[number], self.outputs)
            calls = self._calls(steps, graph, Stage.COMMUNICATION)
            groups.append(self._group(names, calls, stepped))
        return tuple(groups)

    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Components that feed each other, those of an ODE being as one."""
        if not self.exchange:
            return component_cycles(self.table.flow)
        flow, inside = self._flow(), set(self.exchange)
        parts = (part for part in strong_components(flow) if not inside.issuperset(part))
        found = (part for part in parts if len(part) > 1 or any(name in flow.after[name] for name in part))
        return tuple(sorted(tuple(sorted(part)) for part in found))

    def ode(self, events: EventModes) -> PlannedOde | None:
        """With the states given, every output and every wired input of the components of model exchange."""
        if not self.exchange:
            return None
        inside = set(self.exchange)
        whole = self._graph(Stage.CONTINUOUS)
        graph = whole.part(signal for signal in whole if signal.component in inside)
        blocks = [block for block in evaluation_order(graph) if self._inside(block)]
        calls = self._calls(sweep(graph, blocks, self.outputs), graph, Stage.CONTINUOUS)
        sources, slots = self.table.sources, self.table.slots
        fed = [s for name in self.exchange for s in self.instances[self.index[name]].inputs if s in sources]
        inputs = tuple(slots[signal] for signal in fed if sources[signal].source.component not in inside)
        wired = frozenset(self.table.whole.get(source, source) for s in fed if (source := sources[s].source))
        needed = frozenset(chain.from_iterable(map(self.table.slots_of, wired)))
        indices = tuple(self.index[name] for name in self.exchange)
        alone = len(indices) == len(self.instances)
        return PlannedOde(indices, calls, tuple(_without(calls, needed)), inputs, alone, events)

    def whole(self, ode: PlannedOde) -> PlannedGroup:
        """The group of a system that is nothing but an ODE."""
        return PlannedGroup((ode.instances,), ode.sweep, (), (False,))

    def _graph(self, stage: Stage) -> DependencyGraph:
        """Without clocks and the outputs that stay what they are between events: they depend on nothing."""
        graph = dependency_graph(self.table.flow, stage)
        still = self.table.still
        return graph.part(signal for signal in graph if signal not in still) if still else graph

    def _inside(self, block: Block) -> bool:
        """Signals of components that have slots; the system's own inputs and outputs are neither set nor
        computed.
        """
        return bool(block.signals[0].component) and bool(self.table.slots_of(block.signals[0]))

    def _group_order(self) -> list[tuple[str, ...]]:
        parts = condensation(self._flow())
        order = topological_order(parts, lambda names: min(self.index[name] for name in names))
        return [tuple(sorted(names, key=self.index.__getitem__)) for names in order]

    def _flow(self) -> Digraph[str, None]:
        """Which component has inputs from which; those of an ODE lead to each other, so that they stay together."""
        flow = component_graph(self.table.flow)
        for one, other in pairwise((*self.exchange, *self.exchange[:1])):
            flow.add_edge(one, other, None)
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

    def _pattern(self, loop: Loop, real: Sequence[Signal]) -> frozenset[tuple[int, int]]:
        """Of the unknowns; by elements: what holds between two arrays holds between any of theirs."""
        sizes = [len(self.table.slots_of(signal)) if signal in real else 0 for signal in loop.torn]
        places = [range(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
        return frozenset(chain.from_iterable(product(places[i], places[j]) for i, j in loop.pattern))

    def _call(self, visit: Visit) -> Call:
        """Arrays are set and got as a whole."""
        inputs, outputs = self._slots(visit.inputs), self._slots(visit.outputs)
        return Call(self.index[visit.component], inputs, outputs)

    def _bounds(self, output: Signal) -> tuple[float, float]:
        """Between which values an output is in its own range and leaves the inputs that it feeds in theirs."""
        variables = {name: one.description.variables for name, one in self.table.network.components.items()}
        own = variables[output.component][output.variable]
        low, high = own.minimum, own.maximum
        for wire in self.readers[output]:
            if wire.destination.component and (factor := wire.conversion.factor):
                its = variables[wire.destination.component][wire.destination.variable]
                ends = ((bound - wire.conversion.offset) / factor for bound in (its.minimum, its.maximum))
                least, most = sorted(ends)
                low, high = max(low, least), min(high, most)
        # Ranges that exclude each other are kept by nothing.
        return (low, high) if low <= high else (own.minimum, own.maximum)

    def _slots(self, signals: Iterable[Signal]) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self.table.slots_of, signals)))

    def _loop(self, loop: Loop, graph: Graph, stage: Stage) -> PlannedLoop:
        real = [signal for signal in loop.torn if not holds_integer(self.table.kind(signal))]
        torn, held = self._slots(real), self._slots(signal for signal in loop.torn if signal not in real)
        unknowns = tuple(self.table.signals[slot] for slot in torn)
        bounds = [self._bounds(signal) for signal in unknowns]
        single = any(self.table.kind(signal) == "Float32" for signal in loop.signals)
        calls = LoopCalls(
            torn=torn,
            body=tuple(self._call(visit) for visit in loop.body),
            nominal=tuple(self.table.nominal[slot] for slot in torn),
            rtol=max(LOOP_CONVERGENCE.rtol, 4 * rounding(single)),
            atol=LOOP_CONVERGENCE.atol,
            max_iterations=CHORD_ITERATIONS,
            held=held,
        )
        instances = [self.instances[self.index[name]] for name in loop.components]
        able = all(one.capabilities.directional_derivatives for one in instances)
        return PlannedLoop(
            stage=stage,
            calls=calls,
            signals=loop.signals,
            torn=unknowns,
            held=tuple(self.table.signals[slot] for slot in held),
            pattern=self._pattern(loop, real),
            minimum=tuple(low for low, _ in bounds),
            maximum=tuple(high for _, high in bounds),
            directional=able and _visits_are_whole(loop, graph) and not single,
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


def _visits_are_whole(loop: Loop, graph: Graph) -> bool:
    """Each visit sets all inputs of the loop that its outputs need, as a product along the visits assumes."""
    members = set(loop.signals)
    for visit in loop.body:
        for output in visit.outputs:
            needed = {s for s in graph.before[output] if s in members and s.component == visit.component}
            if not needed.issubset(visit.inputs):
                return False
    return True
