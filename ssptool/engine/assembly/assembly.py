"""Assembly: the running FMUs of a plan with their kernel, released in the right order."""

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from math import isnan
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakValueDictionary

from ssptool.engine.assembly.fmu_log import FmuLogging, more_about, open_fmu_logging
from ssptool.engine.assembly.instances import Pool, Sources, lost_process
from ssptool.engine.failure import Ending, Failure, wish_to_end
from ssptool.engine.kernel.calls import (
    ACCESS,
    EVENT_FUNCTIONS,
    Call,
    Code,
    Outcome,
    functions_for,
    functions_of_exchange,
)
from ssptool.engine.kernel.slot_values import read_slot
from ssptool.engine.masters.registry import ADJOINT
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.recording.iteration_log import COUPLING_FACTS, LOOP_FACTS, IterationLog, open_log
from ssptool.engine.settings import Settings
from ssptool.engine.watch import Watch
from ssptool.errors import counted
from ssptool.fmu.binary import FmuBinary
from ssptool.fmu.description import InterfaceType, UnusableFmu
from ssptool.fmu.instance import FmiError, FmuInstance
from ssptool.fmu.messages import STATUS, status_word
from ssptool.fmu.processes import AVAILABLE
from ssptool.fmu.surroundings import Surroundings, words_for
from ssptool.network.conversion import narrowing

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeKernel, NativeSystem


Adopted: TypeAlias = "WeakValueDictionary[int, FmuInstance]"
"""Instances that a system has as the components of its plan, by index."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """Running FMUs and the kernel that they are registered with. Indices and slots are those of the plan.

    Attributes
    ----------
    instances
        In the order of the plan.
    loop_log, coupling_log
        Logs of the iterates of algebraic loops and of macro steps, if asked for.
    explain_ode
        Gives the failure of the last step of the ODE of all model exchange components in a system with co-simulation;
        raises errors that are not of a component.
    ode_kernel
        A kernel for these components alone, with the slots of the whole, where nothing leads in from other components.
    logging
        Logging of the FMUs.
    remarks
        Remarks on the run, each once.
    surroundings
        What steps of FMUs must not change.
    at_end
        Callbacks for the end of the run, called before the FMUs are freed.
    native
        The system that carries out the plan.
    """

    plan: Plan
    kernel: "NativeKernel"
    instances: tuple[FmuInstance, ...]
    logging: FmuLogging
    native: "NativeSystem"
    loop_log: IterationLog | None = None
    coupling_log: IterationLog | None = None
    explain_ode: Callable[[], Failure] | None = None
    ode_kernel: "NativeKernel | None" = None
    remarks: dict[str, None] = field(default_factory=dict)
    at_end: ExitStack = field(default_factory=ExitStack)
    surroundings: Surroundings = field(default_factory=Surroundings)

    @property
    def of_ode(self) -> "Assembly":
        """The same assembly with the kernel of the components of model exchange."""
        return self if self.ode_kernel is None else replace(self, kernel=self.ode_kernel)

    def remark(self, text: str) -> None:
        """Add a remark on the run."""
        self.remarks[text] = None

    def retreats(self) -> Iterator[str]:
        """Notes on FMUs that refused to follow their inputs."""
        for index, order, since, function, status in self.kernel.retreats:
            if not function:  # it was before the simulation was saved
                continue
            how = "run along lines (order 1)" if order else "are held at their value in the middle of each step"
            yield (
                f"component {self.instances[index].name}: {function} returned {status_word(status)}, so its inputs "
                f"{how} from t = {since:.12g} s on"
            )
        yield from self._divided_steps()
        yield from self._unasked_returns()
        yield from self._disturbances()

    def _divided_steps(self) -> Iterator[str]:
        """Notes on FMUs that discarded steps."""
        for one in self.kernel.divided_steps:
            yield (
                f"component {self.instances[one.instance].name}: its FMU discarded {counted(one.steps, 'step')} "
                f"from t = {one.since:.12g} s on, and did them in up to {one.most} smaller ones; with a smaller "
                "--step-size, all components exchange signals that often"
            )

    def _disturbances(self) -> Iterator[str]:
        """Notes on FMUs that changed what belongs to the whole process, one for each component."""
        kernels = [self.kernel, *([] if self.ode_kernel is None else [self.ode_kernel])]
        for index, instance in enumerate(self.instances):
            found = dict.fromkeys(words for one in kernels for words in words_for(one.changes_of_mode(index)))
            if words := ", ".join({**instance.changed, **found}):
                yield f"component {instance.name}: its FMU changed {words}, {_RESTORED}"

    def restore_surroundings(self, when: str = "in macro steps") -> None:
        """Restore process-wide settings that calls have changed and kernels do not check, and add a remark."""
        if words := ", ".join(self.surroundings.restore()):
            who = f"component {self.instances[0].name}: its" if len(self.instances) == 1 else f"{when}, an"
            self.remark(f"{who} FMU changed {words}, {_RESTORED}")

    def _unasked_returns(self) -> Iterator[str]:
        for name, count in self._resumed():
            if count:
                yield (
                    f"component {name} returned early in {counted(count, 'macro step')}, although it must not; "
                    "it completed each alone, and its events were handled at the end of the step"
                )

    def _resumed(self) -> Iterator[tuple[str, int]]:
        """Components in event mode, with the number of steps that they ended early without permission."""
        for index, instance in enumerate(self.instances):
            if instance.name in self.plan.event_modes.members:
                yield instance.name, self.native.resumed(index)

    def explain(self, outcome: Outcome, time: float) -> Failure:
        """Failure of a run, from the outcome of a kernel operation."""
        if outcome.code is Code.NONFINITE:
            return self._nonfinite(outcome, time)
        if outcome.code is Code.RANGE:
            return self._out_of_range(outcome, time)
        if outcome.code is not Code.FMI:
            raise AssertionError(f"{outcome} is not for a component to answer for")
        if outcome.instance == len(self.instances) and self.explain_ode is not None:
            return self.explain_ode()
        if lost := lost_process(self.instances, time):
            return lost
        instance = self.instances[outcome.instance]
        if _asks_to_end(outcome, instance):
            of_fmi3 = self.kernel.ended(outcome.instance)
            return wish_to_end(instance.name, time, instance.last_successful_time() if isnan(of_fmi3) else of_fmi3)
        instance.note(outcome.fmi_status)
        returned = self._returned(instance, outcome.function, outcome.fmi_status)
        discarded = outcome.fmi_status == STATUS.index("discard")
        own = SHORTER_STEPS if discarded and outcome.function in DO_STEP else ""
        answer, advice = _CONTRADICTIONS.get(outcome.function, (returned, own))
        messages = instance.log.latest()
        return Failure(
            Ending.FMI,
            f"component {instance.name}: {outcome.function} {answer}",
            self._advice(messages, advice),
            time,
            instance.name,
            outcome.function,
            messages,
            recoverable=discarded,
        )

    def _nonfinite(self, outcome: Outcome, time: float) -> Failure:
        name = self.instances[outcome.instance].name
        signal, value = self.plan.signals[outcome.slot], self.kernel.values[outcome.slot]
        return Failure(
            Ending.NONFINITE,
            f"component {name}: {signal} is {value} (from {outcome.function})",
            "check parameters, start values and inputs: the solution may be unstable",
            time,
            name,
            outcome.function,
            self.instances[outcome.instance].log.latest(),
        )

    def _out_of_range(self, outcome: Outcome, time: float) -> Failure:
        name, signal = self.instances[outcome.instance].name, self.plan.signals[outcome.slot]
        value = read_slot(self.kernel, outcome.slot, self.plan.types[outcome.slot])
        reason = f"{signal} cannot be {value!r}, because {outcome.function} does not accept this value"
        for wire in self.plan.wires:
            ends, types = (wire.source, wire.destination), self.plan.types
            checked = narrowing(*(types[end] for end in ends)) if outcome.slot in ends else None
            if checked is not None:
                source, destination = (self.plan.signals[end] for end in ends)
                reason = (
                    f"{source} → {destination}: the value {value!r} of {signal} does not fit type "
                    f"{types[wire.destination]}, whose range is {checked.range}"
                )
        return Failure(
            Ending.FMI,
            f"component {name}: {reason}",
            "connect signals of the same type, or map the values on the connection",
            time,
            name,
            outcome.function,
        )

    def refused(self, error: FmiError, time: float) -> Failure:
        """Failure from an FMI function that was called outside of the kernel: during initialization or termination."""
        instance = next((one for one in self.instances if one.name == error.instance), None)
        if lost := lost_process(self.instances, time):
            return lost
        return Failure(
            Ending.FMI,
            f"component {error.instance}: {error.function} {self._returned(instance, error.function, error.status)}",
            self._advice(error.messages),
            time,
            error.instance,
            error.function,
            error.messages,
        )

    @staticmethod
    def _returned(instance: FmuInstance | None, function: str, status: int) -> str:
        if instance is None or instance.has(function.partition(":")[0]):
            return f"returned {status_word(status)}"
        return "could not be called: the library of the FMU does not have it"

    def _advice(self, messages: Sequence[str], advice: str = "") -> str:
        """Advice after a failed call. If none is given and the FMU has logged messages, these explain the failure."""
        more = more_about(self.plan.settings, messages)
        if not advice and messages:
            return more
        return f"{advice or CHECK_IT} ({more})"

    def perform(self, calls: Sequence[Call]) -> Outcome:
        """Evaluate these calls once, at the present instant."""
        return self.kernel.evaluate(self.kernel.schedule(calls))

    def terminate(self, time: float) -> Failure | None:
        """Terminate all FMUs; returns the first failure, after all others were terminated."""
        failure: Failure | None = None
        for instance in self.instances:
            try:
                instance.terminate()
            except FmiError as error:
                failure = failure or self.refused(error, time)
        return failure

    def abandon(self, failure: Failure) -> None:
        """Terminate all FMUs except the one that failed, which FMI allows only to be freed."""
        failed = "" if failure.ending is Ending.TERMINATED else failure.component  # at the start
        for instance in self.instances:
            if instance.name != failed:
                with contextlib.suppress(FmiError):
                    instance.terminate()


_RESTORED = "which was restored after its calls"

DO_STEP = ("fmiDoStep", "fmi2DoStep", "fmi3DoStep")

CHECK_IT = "check its parameters, start values and inputs"
SHORTER_STEPS = "it may accept a smaller --step-size"
"""Advice if an FMU has rejected a call, and if it has discarded a step."""

_FAULT = "report it to the supplier of the FMU, and try a step size that is a multiple of its internal step"
_CONTRADICTIONS = {
    "fmi3DoStep:earlyReturn": ("was true, although the FMU must not return early", _FAULT),
    "fmi3DoStep:eventHandlingNeeded": (
        "was true, although the FMU is not in event mode",
        "report it to the supplier of the FMU",
    ),
    "fmi3DoStep:lastSuccessfulTime": ("is not the end of the step, or contradicts earlyReturn", _FAULT),
}
"""Answers and advice for outputs of a step that contradict what was asked."""


def _asks_to_end(outcome: Outcome, instance: FmuInstance) -> bool:
    """True if a component ends the simulation in this step, which is incomplete, or after the last one."""
    if outcome.function == "fmi3DoStep:terminateSimulation":
        return True
    discarded = outcome.function == "fmi2DoStep" and outcome.fmi_status == STATUS.index("discard")
    return discarded and instance.wants_to_end()


@contextmanager
def assemble(
    native: "NativeSystem",
    adopted: Adopted,
    plan: Plan,
    archive: Sources,
    watch: Watch | None = None,
    pool: Pool | None = None,
    surroundings: Surroundings | None = None,
) -> Iterator[Assembly]:
    """Load and instantiate every FMU of a plan, for the system that carries it out. On exit, free states, instances and
    libraries. `adopted` are the instances that the system already has from earlier runs.

    `watch`, if given, records every call to the FMUs. A `pool` supplies libraries and instances of earlier runs where
    possible, and keeps them for later runs. `surroundings` are those of the run (within `KeptWorkingDirectory`), if
    nothing else may change them until its end.

    Raises
    ------
    UnusableFmu
        A binary cannot be used here.
    FmiError
        An FMU refuses to be instantiated.
    """
    with ExitStack() as stack:
        logging = stack.enter_context(open_fmu_logging(plan.settings))
        remarks: dict[str, None] = {}
        supply = pool if pool is not None else stack.enter_context(Pool(reuse=False))
        supply.enclose(plan, archive)
        instances: list[FmuInstance] = []
        for index, planned in enumerate(plan.instances):
            path = supply.path(planned.source, archive)
            binary = supply.binary(path, planned.description, planned.interface, planned.process)

            def make(of: FmuBinary, index: int = index, planned: PlannedInstance = planned) -> FmuInstance:
                return _instantiated(of, plan, planned, native.callback(index), logging)

            binary, instance, note = _supplied(plan, index, binary, supply, make, watch, surroundings)
            instance.surroundings = surroundings
            if watch:
                instance.intercept(watch.around(index))
            if note := "; ".join(filter(None, (note, logging.start(instance)))):
                remarks[note] = None
            if adopted.get(index) is not instance:
                functions, component = _functions(planned, instance), instance.component
                if watch:
                    functions, component = watch.stand_ins(index, functions, component)
                native.adopt(index, functions, component)
                adopted[index] = instance
            instances.append(instance)
            stack.callback(supply.give_back, binary, instance, keep=_serves_again(plan, planned, watch))
        kernel = native.begin()
        # Pushed last to run first: saved states must be freed before their instances.
        stack.callback(native.release)
        kernel.use_threads(min(plan.settings.threads, len(plan.instances)))
        kernel.report_time(logging.clock.address)
        logging.clock.time = plan.interval.start
        loops, coupling = _logs(plan.settings, stack)
        yield Assembly(
            plan,
            kernel,
            tuple(instances),
            logging,
            native,
            loop_log=loops,
            coupling_log=coupling,
            remarks=remarks,
            at_end=stack,
            surroundings=surroundings or Surroundings(),
        )


def _logs(settings: Settings, stack: ExitStack) -> tuple[IterationLog | None, IterationLog | None]:
    """Open the logs of the iterates of algebraic loops and of macro steps, if the settings ask for them."""
    found = []
    for path, facts in ((settings.log_loops, LOOP_FACTS), (settings.log_coupling, COUPLING_FACTS)):
        found.append(None if path is None else stack.enter_context(open_log(path, facts)))
    loops, coupling = found
    return loops, coupling


def _supplied(
    plan: Plan,
    index: int,
    binary: FmuBinary,
    supply: Pool,
    make: Callable[[FmuBinary], FmuInstance],
    watch: Watch | None = None,
    surroundings: Surroundings | None = None,
) -> tuple[FmuBinary, FmuInstance, str]:
    """Binary and instance of a component, and a note: a reset instance of an earlier run, or a new one."""
    planned = plan.instances[index]
    instance = supply.take(binary, planned.name, surroundings) if _serves_again(plan, planned, watch) else None
    if instance is not None:
        return binary, instance, ""
    with watch.during(index, _making(planned)) if watch else contextlib.nullcontext():
        instance = make(binary)
        if (other := binary.same_as(instance)) is not None:
            return _apart(plan, index, binary, supply, make, (instance, other))
    return binary, instance, ""


def _apart(
    plan: Plan,
    index: int,
    binary: FmuBinary,
    supply: Pool,
    make: Callable[[FmuBinary], FmuInstance],
    same: tuple[FmuInstance, FmuInstance],
) -> tuple[FmuBinary, FmuInstance, str]:
    """Instance in a process of its own for an FMU that returned the instance of another component again; and a note."""
    instance, other = same
    binary.disown(instance)
    what = f"the FMU of {instance.name} returned the instance of {other.name} again"
    if not AVAILABLE:
        raise UnusableFmu(binary.path, f"{what}; it supports only one instance in a process")
    number = 1 + index + max(one.process for one in plan.instances)
    own = supply.binary(binary.path, binary.description, binary.interface, number)
    return own, make(own), f"{what}; {instance.name} therefore runs in a separate process"


def _making(planned: PlannedInstance) -> str:
    """Name of the FMI function that instantiates the component."""
    major = planned.description.fmi_major
    return "fmiInstantiateSlave" if major == 1 else f"fmi{major}Instantiate"


def _instantiated(
    binary: FmuBinary,
    plan: Plan,
    planned: PlannedInstance,
    callback: tuple[int, int],
    logging: FmuLogging,
) -> FmuInstance:
    """Make a new instance. An FMU that needs inputs inside of a step asks for them by `callback`, in its
    environment.
    """
    events = plan.event_modes.members.get(planned.name)
    # Only an FMU that asks for inputs inside a step needs an environment.
    asks = asks_for_inputs(planned)
    try:
        return binary.instantiate(
            planned.name,
            environment=callback[0] if asks else 0,
            intermediate_update=callback[1] if asks else 0,
            required_inputs=[name for name, _ in planned.moving] if asks else (),
            logging=logging.everything,
            log=logging.log(planned.name, planned.description),
            description=planned.description,
            event_mode=events is not None,
            early_return=events is not None and events.returns_early,
        )
    except FmiError as error:
        facts = error.instance, error.function, error.status, error.messages
        raise FmiError(*facts, more_about(plan.settings, error.messages)) from None


def _functions(planned: PlannedInstance, instance: FmuInstance) -> dict[str, int]:
    """Functions of the FMU. In place of missing functions that a kernel or an integrator looks up, there is one that
    returns an error.
    """
    major = planned.description.fmi_major
    wanted = functions_for(major, ACCESS[major])
    if planned.interface is InterfaceType.MODEL_EXCHANGE:
        wanted += functions_of_exchange(major) + (EVENT_FUNCTIONS if major == 3 else ())
    elif planned.capabilities.adjoint_derivatives:
        wanted += (ADJOINT,)
    return {**dict.fromkeys(wanted, _REFUSAL), **instance.functions}


_refuse = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: STATUS.index("error"))
_REFUSAL = ctypes.cast(_refuse, ctypes.c_void_p).value or 0


def _serves_again(plan: Plan, planned: PlannedInstance, watch: Watch | None) -> bool:
    """True if a later run can use the instance again: if nothing that is fixed at instantiation can differ (environment
    of its kernel, replaced functions of a watch, event mode, logging, sizes of arrays, initialization in FMI 1.0).
    """
    old = planned.description.fmi_major == 1 or planned.name in plan.event_modes.members
    logs = plan.settings.fmu_log is not None
    return not (old or logs or asks_for_inputs(planned) or watch or planned.structure)


def asks_for_inputs(planned: PlannedInstance) -> bool:
    """True if the FMU asks for inputs inside of its steps (intermediate update of FMI 3.0)."""
    simulated = planned.interface is InterfaceType.CO_SIMULATION
    return simulated and planned.description.fmi_major == 3 and bool(planned.wired) and planned.capabilities.follows
