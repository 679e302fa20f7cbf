"""Both kernels on the dual-mass oscillator: FMI 2.0, FMI 3.0, and one FMU of each."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

from ssptool.engine.kernel.calls import FUNCTIONS, Call, Code, Instruction, LoopCalls, Op, SolveLoop
from ssptool.fmu.binary import load
from ssptool.fmu.instance import FmuInstance
from ssptool.fmu.read_description import read_description
from tests.engine.kernel.methods import InstanceTable, Kernel
from tests.fmu.starting import enter_initialization, exit_initialization

RESOURCES = Path(__file__).parents[3] / "systems/dual_mass_oscillator/resources"
FOLDER = {2: RESOURCES, 3: RESOURCES / "fmi3"}
STEP = 1e-2

# Slots: inputs and outputs of System1, then those of System2.
F_IN, X1, V1, A1, X1_IN, V1_IN, A1_IN, F = range(8)
SYSTEM1 = {"F": F_IN, "x1": X1, "v1": V1, "a1": A1}
SYSTEM2 = {"x1": X1_IN, "v1": V1_IN, "a1": A1_IN, "F": F}
INPUTS = {"System1": ["F"], "System2": ["x1", "v1", "a1"]}
OUTPUTS = {"System1": ["x1", "v1", "a1"], "System2": ["F"]}


@dataclass
class Oscillator:
    """The initialized system. Group 0: both; 1 and 2: one each. Sweep 0: all outputs made consistent."""

    kernel: Kernel
    instances: list[FmuInstance]
    loop: int
    stack: ExitStack

    def trace(self, program: list[Instruction], steps: int, h: float = STEP) -> np.ndarray:
        self.kernel.record_slots(range(8))
        rows = np.empty((steps, 9))
        outcome = self.kernel.run(program, 0.0, h, 0, rows)
        assert outcome.ok, outcome
        return rows


def initialized(make_kernel, versions=(2, 2), flange=0.0, chord=None) -> Oscillator:
    stack = ExitStack()
    kernel = make_kernel(8)
    instances = []
    for name, slots, version in zip(("System1", "System2"), (SYSTEM1, SYSTEM2), versions, strict=True):
        instances.append(add(stack, kernel, FOLDER[version] / f"{name}.fmu", name, slots))
    stack.callback(kernel.release)  # entered last, so done before the instances are freed
    kernel.connect([F, X1, V1, A1], [F_IN, X1_IN, V1_IN, A1_IN], [1.0] * 4, [0.0] * 4)
    for group in ([0, 1], [0], [1]):
        kernel.group(group)
    body = (Call(1, [X1_IN, V1_IN, A1_IN], [F]), Call(0, [F_IN], [A1]))
    loop = kernel.loop(LoopCalls([A1], body, [5.0], rtol=1e-13, atol=0.0, max_iterations=50))
    kernel.schedule([Call(0, [], [X1, V1]), SolveLoop(loop)])
    instances[1].set({"m_c": flange})
    for instance in instances:
        enter_initialization(instance)
    if chord is not None:
        kernel.set_chord(loop, np.array([[chord]]))
    return Oscillator(kernel, instances, loop, stack)


def add(stack: ExitStack, kernel: Kernel, path: Path, name: str, slots: dict[str, int]) -> FmuInstance:
    assert path.exists(), f"{path} is built by `make setup`"
    description = read_description(path)
    binary = stack.enter_context(load(path, description))
    references = {variable: description.variables[variable].reference for variable in slots}
    environment = kernel.environment() if description.fmi_major == 3 else 0
    instance = binary.instantiate(
        name,
        environment=environment,
        intermediate_update=kernel.intermediate_update_address() if environment else 0,
        required_inputs=INPUTS[name] if environment else (),
    )
    kernel.add(
        InstanceTable(
            fmi_major=description.fmi_major,
            functions={function: instance.functions[function] for function in FUNCTIONS[description.fmi_major]},
            component=instance.component,
            input_slots=[slots[variable] for variable in INPUTS[name]],
            input_references=[references[variable] for variable in INPUTS[name]],
            output_slots=[slots[variable] for variable in OUTPUTS[name]],
            output_references=[references[variable] for variable in OUTPUTS[name]],
            environment=environment,
        )
    )
    return instance


def started(*arguments, **options) -> Oscillator:
    system = initialized(*arguments, **options)
    outcome = system.kernel.evaluate(0)
    assert outcome.ok, outcome
    for instance in system.instances:
        exit_initialization(instance)
    system.kernel.accept(0.0)
    return system


@pytest.fixture(params=[(2, 2), (3, 3), (2, 3)], ids=["fmi2", "fmi3", "mixed"])
def versions(request):
    return request.param


BOTH = [Instruction(Op.EXCHANGE, 0), Instruction(Op.HOLD, 0), Instruction(Op.ADVANCE, 0)]
CONSISTENT = [Instruction(Op.EVALUATE, 0), Instruction(Op.EXCHANGE, 0), Instruction(Op.ACCEPT), Instruction(Op.RECORD)]
PROGRAMS = {
    "jacobi, held": BOTH + CONSISTENT,
    "jacobi, extrapolated": [Instruction(Op.EXTRAPOLATE, 0, 2), Instruction(Op.ADVANCE, 0), *CONSISTENT],
    "gauss-seidel, interpolated": [
        *(Instruction(Op.EXTRAPOLATE, 1, 1), Instruction(Op.ADVANCE, 1), Instruction(Op.EXCHANGE, 2)),
        *(Instruction(Op.INTERPOLATE, 2, 1), Instruction(Op.ADVANCE, 2), *CONSISTENT),
    ],
}


def exact(t: float, flange: float = 0.0) -> np.ndarray:
    """x1, v1, a1, F of the whole system by the matrix exponential; masses 1, springs 10, 10, 20 N/m, x2(0) = 0.5 m."""
    effective = 1.0 + flange
    matrix = np.array(
        [
            [0.0, 1.0, 0.0, 0.0],
            [-20.0 / effective, -0.7 / effective, 10.0 / effective, 0.5 / effective],
            [0.0, 0.0, 0.0, 1.0],
            [10.0, 0.5, -30.0, -0.8],
        ]
    )
    state = expm(matrix * t) @ [0.0, 0.0, 0.5, 0.0]
    x1, v1, _, _ = state
    a1 = (matrix @ state)[1]
    return np.array([x1, v1, a1, a1 + 10.0 * x1 + 0.2 * v1])


def test_the_start_is_consistent(make_kernel, versions):
    system = started(make_kernel, versions)
    with system.stack:
        assert system.kernel.values[[X1, V1, A1, F]] == pytest.approx([0.0, 0.0, 5.0, 5.0], abs=1e-12)


def test_a_heavy_flange_diverges_by_fixed_point_and_is_solved_with_the_chord(make_kernel, versions):
    """Loop gain −m_c/m1 = −2; a1 = 5/(1 + m_c) = 5/3."""
    system = initialized(make_kernel, versions, flange=2.0)
    with system.stack:
        outcome = system.kernel.evaluate(0)
        assert (outcome.code, outcome.loop) == (Code.LOOP, system.loop)
        outcome, gain = system.kernel.jacobian_product(system.loop, np.array([1.0]))
        assert outcome.ok
        assert gain == pytest.approx([-2.0], rel=1e-12)
        system.kernel.values[A1] = 0.0
        system.kernel.set_chord(system.loop, np.array([1.0 / (gain[0] - 1.0)]).reshape(1, 1))
        assert system.kernel.evaluate(0).ok
        assert system.kernel.values[[A1, F]] == pytest.approx([5 / 3, 5 / 3], rel=1e-14)


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_recorded_signal_is_one_step_late(make_kernel, versions, program):
    """Every row satisfies m1 a1 = F − k1 x1 − c1 v1, to a few roundings of 5 N."""
    system = started(make_kernel, versions)
    with system.stack:
        rows = system.trace(PROGRAMS[program], 100)
        x1, v1, a1, f = rows[:, 1 + np.array([X1, V1, A1, F])].T
        assert np.abs(a1 - (f - 10.0 * x1 - 0.2 * v1)).max() < 1e-13
        assert np.array_equal(rows[:, 1 + F_IN], f)


@pytest.mark.parametrize(("program", "order"), [(name, 1 if "held" in name else 2) for name in PROGRAMS])
def test_programs_converge_to_the_exact_solution(make_kernel, program, order):
    """Error of x1 at 0.4 s with h and h/2: the measured order is at least the expected one less 0.25."""
    errors = []
    for steps in (20, 40):
        system = started(make_kernel)
        with system.stack:
            rows = system.trace(PROGRAMS[program], steps, 0.4 / steps)
            errors.append(abs(rows[-1, 1 + X1] - exact(0.4)[0]))
    assert errors[1] < 1e-2  # of 0.2 m, the amplitude of x1
    assert np.log2(errors[0] / errors[1]) > order - 0.25


@pytest.mark.parametrize("program", PROGRAMS)
def test_fmi_2_and_3_agree(make_kernel, program):
    """Input derivatives and intermediate updates describe the same polynomials: rounding is all that differs."""
    traces = []
    for versions in ((2, 2), (3, 3)):
        system = started(make_kernel, versions, flange=0.5)
        with system.stack:
            traces.append(system.trace(PROGRAMS[program], 100))
    assert np.abs(traces[0] - traces[1]).max() < 1e-11


def test_a_step_can_be_taken_back(make_kernel, versions):
    """Save, step, restore, step: the same bits; so an iterated master starts each iteration at the same point."""
    system = started(make_kernel, versions)
    with system.stack:
        kernel = system.kernel
        kernel.exchange(0)
        assert kernel.save(0).ok
        results = []
        for guess in (5.0, 7.0, 5.0):
            assert kernel.restore(0).ok
            kernel.values[F_IN] = guess
            kernel.interpolate(1, 1, STEP)
            assert kernel.advance(1, 0.0, STEP).ok
            results.append(kernel.values[[X1, V1, A1]].tobytes())
        assert results[0] == results[2] != results[1]


def test_a_step_from_the_wrong_time_is_refused_by_the_fmu_and_named(make_kernel, versions):
    system = started(make_kernel, versions)
    with system.stack:
        outcome = system.kernel.advance(0, 1.0, STEP)
        assert (outcome.code, outcome.instance) == (Code.FMI, 0)
        assert outcome.function == f"fmi{versions[0]}DoStep"
        assert "communication point" in system.instances[0].messages[-1]
