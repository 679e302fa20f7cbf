"""Initialization of FMI 1.0 FMUs, which have no initialization mode.

`fmiInitializeSlave` takes such an FMU from its start values to the start time at once. So it is called when the
evaluation comes to the FMU for the first time, with all inputs that are known by then. Its initial state may depend on
inputs that come later or change: then it is reset and initialized again, and the system evaluated again, until each
FMU was initialized with the inputs that it has."""

from collections.abc import Iterator, Mapping

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel.interface import Call, SolveLoop
from ssptool.engine.kernel.slots import read_cell, write_cell
from ssptool.engine.planning.plan import PlannedInstance
from ssptool.engine.planning.schedule import LOOP_CONVERGENCE
from ssptool.fmu.description import Value
from ssptool.fmu.instance import FmiError

_NOTHING: Mapping[str, Value] = {"Boolean": False, "String": "", "Float64": 0.0}

ROUNDS = 50
"""How often the system is evaluated at most, besides once for each such FMU: a row of them takes that many."""


class Fmi1Initialization:
    """Of the FMUs of one assembly that have no initialization mode."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._plan = assembly.plan
        instances = enumerate(assembly.instances)
        self._groups = {index: assembly.kernel.group((index,)) for index, one in instances if one.starts_over}
        self._sources = {wire.destination: wire.source for wire in self._plan.wires}
        self._known = set(self._plan.constants)
        self._with: dict[int, Mapping[str, Value]] = {}  # the inputs that each was initialized with

    def __bool__(self) -> bool:
        return bool(self._groups)

    @property
    def most_rounds(self) -> int:
        return ROUNDS + len(self._groups)

    def before(self, step: Call | SolveLoop) -> None:
        """Initialize what a step of the sweep calls for the first time. Raises `FmiError`."""
        for call in self._calls(step):
            self._begin(call.instance)

    def after(self, step: Call | SolveLoop) -> None:
        """The outputs of a step are known."""
        for call in self._calls(step):
            self._known.update(call.outputs)

    def rest(self) -> None:
        """Initialize those that the sweep does not call. Raises `FmiError`."""
        for index in self._groups:
            self._begin(index)

    def renew(self) -> list[str]:
        """Initialize those anew whose inputs are now others than they were initialized with; which they were.

        Raises
        ------
        FmiError
        """
        found = []
        for index, group in self._groups.items():
            planned, instance = self._plan.instances[index], self._assembly.instances[index]
            self._assembly.kernel.exchange(group)
            now = self._cells(planned)
            changed = [name for name in now if self._differ(planned, name, now[name], self._with[index][name])]
            if changed:
                instance.start_over({**planned.starts, **now})
                self._with[index] = now
                found += [f"{planned.name}.{name}" for name in changed]
        return found

    def refused(self, error: FmiError) -> Failure:
        """An FMU that refused to be begun; what to do if it only refuses to be reset."""
        start = self._plan.interval.start
        failure = self._assembly.refused(error, start)
        if error.function != "fmiResetSlave":
            return failure
        index = [one.name for one in self._plan.instances].index(error.instance)
        now = self._cells(self._plan.instances[index])
        changed = {name: value for name, value in now.items() if value != self._with[index][name]}
        settings = " ".join(f"--set {error.instance}.{name}={value!r}" for name, value in changed.items())
        return Failure(
            Ending.FMI,
            f"{failure.message}; it has to be initialized again, because its inputs are not those that it was "
            "initialized with, and FMI 1.0 has no initialization mode",
            f"give it these inputs as start values: {settings}",
            start,
            error.instance,
            error.function,
            failure.messages,
        )

    def unsettled(self, inputs: list[str]) -> Failure:
        """The rounds are over, and these inputs still change."""
        return Failure(
            Ending.LOOP,
            f"after {self.most_rounds} rounds, FMUs of FMI 1.0 were not initialized with the inputs that they have: "
            f"{', '.join(inputs)}; their initial states depend on inputs that depend on them, which cannot be solved "
            "without an initialization mode",
            "give start values for these inputs, or export the FMUs as FMI 2.0",
            self._plan.interval.start,
        )

    def stated(self, planned: PlannedInstance, name: str) -> Value:
        """What a variable has before its FMU can be asked."""
        variable = planned.description.variables[name]
        given = planned.starts.get(name, variable.start)
        return _NOTHING.get(variable.type, 0) if given is None else given

    def _begin(self, index: int) -> None:
        if index not in self._groups or index in self._with:
            return
        plan, kernel, instance = self._plan, self._assembly.kernel, self._assembly.instances[index]
        planned = plan.instances[index]
        kernel.exchange(self._groups[index])
        fed = [
            signal.variable
            for signal, slot in zip(planned.inputs, planned.input_slots, strict=True)
            if self._sources.get(slot) in self._known
        ]
        now = self._cells(planned)
        instance.set({**planned.starts, **{name: now[name] for name in fed}})
        instance.enter_initialization(plan.interval.start, plan.interval.stop, None)
        self._with[index] = instance.get([signal.variable for signal in planned.inputs])
        for signal, slot in zip(planned.inputs, planned.input_slots, strict=True):
            write_cell(kernel, slot, plan.types[slot], self._with[index][signal.variable])

    def _calls(self, step: Call | SolveLoop) -> Iterator[Call]:
        if isinstance(step, Call):
            yield step
        else:
            yield from self._plan.loops[step.loop].calls.body

    def _cells(self, planned: PlannedInstance) -> dict[str, Value]:
        kernel, types = self._assembly.kernel, self._plan.types
        slots = zip(planned.inputs, planned.input_slots, strict=True)
        return {signal.variable: read_cell(kernel, slot, types[slot]) for signal, slot in slots}

    @staticmethod
    def _differ(planned: PlannedInstance, name: str, one: Value, other: Value) -> bool:
        if not isinstance(one, float) or not isinstance(other, float):
            return one != other
        scale = max(abs(one), planned.description.variables[name].nominal)
        return not abs(one - other) <= LOOP_CONVERGENCE.rtol * scale
