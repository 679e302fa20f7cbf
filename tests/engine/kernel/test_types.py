"""Signals of all types: what a component gives arrives at the next one as it was, to the last bit."""

import ctypes
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ssptool.engine.kernel.calls import (
    ACCESS,
    REAL_TYPES,
    Call,
    Code,
    Instruction,
    LoopCalls,
    Op,
    SolveLoop,
    functions_for,
)
from ssptool.engine.kernel.solutions import SolutionStatus
from ssptool.engine.trace import NUMBERED, as_content, from_content
from tests.engine.kernel.methods import InstanceTable, LoopMethod
from tests.engine.kernel.mock_fmu import build_shared

RANGES = {
    f"{u}Int{bits}": (0 if u else -(2 ** (bits - 1)), 2 ** (bits - (not u)) - 1)
    for bits in (8, 16, 32, 64)
    for u in ("", "U")
}
VALUES = {
    "Float64": [math.pi, -5e-324],
    "held Float64": [-math.pi, 5e-324],
    "Float32": [0.5, -1.1754943508222875e-38],
    **{kind: list(limits) for kind, limits in RANGES.items()},
    "Boolean": [True, False],
    "String": ["κατάσταση", "two\nlines"],
    "Enumeration": [-7, 2**31 - 1],
    "Binary": [bytes(range(64)), b""],
}
_PREFIX = {1: "carrier_", 2: "", 3: ""}
CASES = [(major, kind) for major, kinds in ACCESS.items() for kind in kinds]


@pytest.fixture(scope="session")
def carrier(tmp_path_factory):
    library = build_shared(tmp_path_factory.mktemp("carrier"), "carrier.c")
    library.carrier_new.restype = ctypes.c_void_p
    return library


def table(library, major: int, inputs: Sequence[int], outputs: Sequence[int], kinds, *, passed=False) -> InstanceTable:
    """Input k is that of slot `inputs[k]` and has type `kinds[k]`, likewise for outputs. `passed`: at once."""
    kinds = [kinds] * len(inputs) if isinstance(kinds, str) else kinds
    names = functions_for(major, ("Float64", *kinds))
    first = 20 if passed else 10
    return InstanceTable(
        fmi_major=major,
        functions={name: ctypes.cast(getattr(library, _PREFIX[major] + name), ctypes.c_void_p).value for name in names},
        component=library.carrier_new(),
        input_slots=inputs,
        input_references=range(len(inputs)),
        output_slots=outputs,
        output_references=range(first, first + len(outputs)),
        input_types=kinds,
        output_types=kinds,
    )


def cell_view(kernel, kind):
    return kernel.values if kind in REAL_TYPES else kernel.integers


def put(kernel, slot, kind, value):
    if kind in NUMBERED:
        value = kernel.number(as_content(value, kind))
    elif kind == "UInt64":
        value = int(np.uint64(value).astype(np.int64))
    cell_view(kernel, kind)[slot] = value


def read(kernel, slot, kind):
    if kind in NUMBERED:
        return from_content(kernel.content(int(kernel.integers[slot])), kind)
    if kind == "UInt64":
        return int(kernel.integers.view(np.uint64)[slot])
    return cell_view(kernel, kind)[slot].item()


def integers(slots, kind):
    return [] if kind in REAL_TYPES else slots


@pytest.mark.parametrize(("major", "kind"), CASES)
def test_values_arrive_as_they_left(make_kernel, carrier, major, kind):
    """Slots 0, 1 → a component → 2, 3 → wires → 4, 5 → a component that passes on at once → 6, 7."""
    kernel = make_kernel(8, integers=integers(range(8), kind))
    kernel.add(table(carrier, major, [0, 1], [2, 3], kind))
    kernel.add(table(carrier, major, [4, 5], [6, 7], kind, passed=True))
    kernel.connect([2, 3], [5, 4], [1.0, 1.0], [0.0, 0.0])
    group = kernel.group([0])
    schedule = kernel.schedule([Call(1, [4, 5], [6, 7])])
    for slot, value in enumerate(VALUES[kind]):
        put(kernel, slot, kind, value)
    kernel.hold(group)
    assert kernel.advance(group, 0.0, 1.0).ok
    assert kernel.evaluate(schedule).ok
    assert [read(kernel, slot, kind) for slot in (2, 3, 7, 6)] == VALUES[kind] * 2


def test_a_call_may_mix_types(make_kernel, carrier):
    kinds = ["Int64", "Float64", "String", "Enumeration"]
    kernel = make_kernel(8, integers=[0, 2, 3, 4, 6, 7])
    kernel.add(table(carrier, 3, [0, 1, 2, 3], [4, 5, 6, 7], kinds, passed=True))
    for slot, (kind, value) in enumerate(zip(kinds, [2**53 + 1, 0.1, "text", 3], strict=True)):
        put(kernel, slot, kind, value)
    assert kernel.evaluate(kernel.schedule([Call(0, [3, 1, 0, 2], [7, 4, 6, 5])])).ok
    assert [read(kernel, 4 + n, kind) for n, kind in enumerate(kinds)] == [2**53 + 1, 0.1, "text", 3]


def test_an_integer_arrives_in_a_call_that_has_doubles_only(make_kernel, carrier):
    kernel = make_kernel(3, integers=[0])
    kernel.add(table(carrier, 3, [1], [2], "Float64", passed=True))
    kernel.connect([0], [1], [0.5], [10.0])
    kernel.integers[0] = 7
    assert kernel.evaluate(kernel.schedule([Call(0, [1], [2])])).ok
    assert kernel.values[2] == 13.5


def test_tables_replace_what_they_list(make_kernel):
    kernel = make_kernel(3, integers=[0, 1])
    kernel.connect([0, 0], [1, 2], [1.0, 0.5], [0.0, 10.0], {0: {1: 5, 2: -3}, 1: {1: 2**40}})
    for number, mapped, real in ((1, 5, 2**39 + 10.0), (2, -3, 11.0), (3, 3, 11.5)):
        kernel.integers[0] = number
        kernel.accept(float(number))  # copies wires that end at no instance
        assert (kernel.integers[1], kernel.values[2]) == (mapped, real)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(k, limit + sign) for k, r in RANGES.items() if "64" not in k for limit, sign in zip(r, (-1, 1), strict=True)],
)
def test_integers_that_do_not_fit_are_reported_and_not_wrapped(make_kernel, carrier, kind, value):
    kernel = make_kernel(2, integers=[0, 1])
    kernel.add(table(carrier, 3, [0], [1], kind))
    kernel.integers[0] = value
    kernel.hold(kernel.group([0]))
    for outcome in (kernel.advance(0, 0.0, 1.0), kernel.evaluate(kernel.schedule([Call(0, [0], [])]))):
        assert (outcome.code, outcome.instance, outcome.slot) == (Code.RANGE, 0, 0)
        assert outcome.function == f"fmi3Set{kind}"


def test_a_float32_that_is_not_finite_is_reported(make_kernel, carrier):
    kernel = make_kernel(4)
    kernel.add(table(carrier, 3, [0, 1], [2, 3], "Float32"))
    kernel.values[:2] = [1.0, math.inf]
    kernel.hold(kernel.group([0]))
    outcome = kernel.advance(0, 0.0, 1.0)
    assert (outcome.code, outcome.function, outcome.slot) == (Code.NONFINITE, "fmi3GetFloat32", 3)


@pytest.mark.parametrize("value", [-3.5e38, 1e300])
def test_a_double_that_a_float32_cannot_hold_is_reported_and_does_not_become_infinite(make_kernel, carrier, value):
    kernel = make_kernel(4)
    kernel.add(table(carrier, 3, [0, 1], [2, 3], "Float32"))
    kernel.values[:2] = [1.0, value]
    kernel.hold(kernel.group([0]))
    outcome = kernel.advance(0, 0.0, 1.0)
    assert (outcome.code, outcome.function, outcome.slot) == (Code.RANGE, "fmi3SetFloat32", 1)


@pytest.mark.parametrize(
    ("demands", "value", "met"),
    [
        ([(False, 53)], 2**53 + 1, False),
        ([(False, 53)], -(2**53) - 2, True),
        ([(False, 53)], -(2**63), True),
        ([(True, 64)], -1, False),
        ([(True, 64)], 0, True),
        ([(True, 64), (False, 24)], 2**24 + 1, False),
        ([(False, 24), (True, 53)], -4, False),
    ],
)
def test_integers_that_do_not_meet_a_demand_are_reported_where_they_come_from(
    make_kernel, carrier, demands, value, met
):
    kernel = make_kernel(2, integers=[0, 1])
    kernel.add(table(carrier, 3, [0], [1], "Int64"))
    for nonnegative, digits in demands:
        kernel.demand(1, nonnegative, digits)
    kernel.integers[0] = value
    kernel.hold(kernel.group([0]))
    for outcome in (kernel.advance(0, 0.0, 1.0), kernel.evaluate(kernel.schedule([Call(0, [0], [1])]))):
        assert outcome.ok is met
        assert met or (outcome.code, outcome.function, outcome.slot) == (Code.RANGE, "fmi3GetInt64", 1)


@pytest.mark.parametrize("move", ["extrapolate", "interpolate"])
def test_integers_stay_what_they_were_at_the_last_point_while_doubles_move(make_kernel, carrier, move):
    kernel = make_kernel(4, integers=[0, 2])
    kernel.add(table(carrier, 2, [0, 1], [2, 3], ["Int32", "Float64"]))
    group = kernel.group([0])
    for t, number in ((0.0, 3), (1.0, 5)):
        kernel.integers[0], kernel.values[1] = number, float(number)
        kernel.accept(t)
    kernel.integers[0], kernel.values[1] = 9, 9.0
    kernel.extrapolate(group, 1) if move == "extrapolate" else kernel.interpolate(group, 1, 1.0)
    assert kernel.advance(group, 1.0, 1.0).ok
    assert kernel.integers[2] == 5
    assert kernel.input_rates[0, 1] == (2.0 if move == "extrapolate" else 4.0)


def test_rows_hold_the_same_bits(make_kernel, carrier):
    """−1 is a nan where it is taken for a double: it must survive every copy."""
    kernel = make_kernel(2, integers=[0, 1])
    kernel.add(table(carrier, 3, [0], [1], "Int64"))
    kernel.record_slots([1])
    kernel.integers[0] = -1
    rows = np.zeros((2, 2))
    program = [
        Instruction(Op.HOLD, kernel.group([0])),
        Instruction(Op.ADVANCE, 0),
        Instruction(Op.ACCEPT),
        Instruction(Op.RECORD),
    ]
    assert kernel.run(program, 0.0, 1.0, 0, rows).ok
    assert rows[:, 1].view(np.int64).tolist() == [-1, -1]


def test_contents_have_one_number_each_and_the_empty_one_is_0(make_kernel):
    kernel = make_kernel(1, integers=[0])
    assert kernel.content(0) == b""
    numbers = [kernel.number(content) for content in (b"a", b"a\x00\xff", b"a", b"")]
    assert numbers == [1, 2, 1, 0]
    assert kernel.contents == 3 and kernel.content(2) == b"a\x00\xff"
    for number in (3, -1):
        with pytest.raises(IndexError, match="content"):
            kernel.content(number)


def test_bytes_are_copied_before_the_component_is_called_again(make_kernel, carrier):
    """Its `fmi3GetBinary` hands out the same memory at each call."""
    kernel = make_kernel(8, integers=range(8))
    for slots in ([0, 1], [2, 3]), ([4, 5], [6, 7]):
        kernel.add(table(carrier, 3, *slots, "Binary", passed=True))
    for slot, content in zip((0, 1, 4, 5), (b"a\x00b", b"\xff", b"", b"x" * 64), strict=True):
        kernel.integers[slot] = kernel.number(content)
    assert kernel.evaluate(kernel.schedule([Call(0, [0, 1], [2, 3]), Call(1, [4, 5], [6, 7])])).ok
    assert [read(kernel, slot, "Binary") for slot in (2, 3, 6, 7)] == [b"a\x00b", b"\xff", b"", b"x" * 64]


def test_bytes_that_a_component_refuses_are_a_failure_of_the_function(make_kernel, carrier):
    kernel = make_kernel(1, integers=[0])
    kernel.add(replace(table(carrier, 3, [], [0], ["Binary"]), input_types=[], output_references=[99]))
    outcome = kernel.evaluate(kernel.schedule([Call(0, [], [0])]))
    assert (outcome.code, outcome.function, outcome.fmi_status) == (Code.FMI, "fmi3GetBinary", 3)


def test_a_saved_state_does_not_touch_what_integers_are(make_kernel, carrier):
    kernel = make_kernel(2, integers=[0, 1])
    kernel.add(table(carrier, 2, [0], [1], "Int32"))
    group = kernel.group([0])
    kernel.integers[0] = 4
    kernel.hold(group)
    assert kernel.save(group).ok and kernel.advance(group, 0.0, 1.0).ok and kernel.restore(group).ok
    assert kernel.integers.tolist() == [4, 4]
    kernel.release()


def test_types_that_do_not_fit_their_slots_are_refused(make_kernel, carrier):
    kernel = make_kernel(4, integers=[0])
    with pytest.raises(ValueError, match="slot 1 holds doubles"):
        kernel.add(table(carrier, 3, [1], [3], "Int8"))
    with pytest.raises(ValueError, match="slot 0 holds integers"):
        kernel.add(table(carrier, 3, [0], [3], "Float32"))
    with pytest.raises(ValueError, match="type Int8 are not carried in FMI 2"):
        kernel.add(replace(table(carrier, 3, [0], [3], "Int8"), fmi_major=2))
    with pytest.raises(ValueError, match="fmi3GetInt8"):
        functions = dict.fromkeys(functions_for(3, ["Float64"]), 1) | {"fmi3SetInt8": 1}
        kernel.add(replace(table(carrier, 3, [0], [3], "Int8"), functions=functions))
    with pytest.raises(ValueError, match="as many types as slots"):
        kernel.add(replace(table(carrier, 3, [1], [3], "Float64"), input_types=[]))


def test_wires_that_do_not_fit_their_slots_are_refused(make_kernel):
    with pytest.raises(ValueError, match="a double, to 1, an integer"):
        make_kernel(2, integers=[1]).connect([0], [1], [1.0], [0.0])
    with pytest.raises(ValueError, match="has a factor or an offset"):
        make_kernel(2, integers=[0, 1]).connect([0], [1], [2.0], [0.0])
    with pytest.raises(ValueError, match="has a table"):
        make_kernel(2).connect([0], [1], [1.0], [0.0], {0: {1: 2}})
    with pytest.raises(IndexError, match="slot 5"):
        make_kernel(2, integers=[5])


# -- loops of integers ------------------------------------------------------------------------------------------


def ring(make_kernel, carrier, entries, **options):
    """Slots 0 → 1 and 2 → 3 pass integers on; 3 goes back to 0 as it is, 1 to 2 by a table. Cut at 3, which is held."""
    kernel = make_kernel(4, [0, 1, 2, 3])
    for k in (0, 2):
        kernel.add(table(carrier, 2, [k], [k + 1], "Int32", passed=True))
    kernel.connect([1, 3], [2, 0], [1.0, 1.0], [0.0, 0.0], {0: entries})
    body = (Call(0, [0], [1]), Call(1, [2], [3]))
    limits = {"nominal": [], "rtol": 0.0, "atol": 1e-9, "max_iterations": 10} | options
    loop = kernel.loop(LoopCalls(torn=[], body=body, frozen=[3], **limits))
    return kernel, loop, kernel.schedule([SolveLoop(loop)])


def test_a_held_slot_keeps_its_value_until_it_is_settled(make_kernel, carrier):
    kernel, loop, _ = ring(make_kernel, carrier, {0: 7, 7: 7})
    outcome, nothing = kernel.residual(loop, np.empty(0))
    assert outcome.ok
    assert nothing.shape == (0,)
    assert kernel.integers.tolist() == [0, 0, 7, 0]
    assert kernel.update_frozen(loop)
    assert kernel.integers[3] == 7
    kernel.residual(loop, np.empty(0))
    assert not kernel.update_frozen(loop)


def test_a_sweep_settles_a_loop_of_integers(make_kernel, carrier):
    kernel, _, schedule = ring(make_kernel, carrier, {0: 1, 1: 2, 2: 3})
    assert kernel.evaluate(schedule).ok
    assert kernel.integers.tolist() == [3, 3, 3, 3]


def test_a_sweep_gives_up_on_integers_that_go_back_and_forth(make_kernel, carrier):
    kernel, loop, schedule = ring(make_kernel, carrier, {0: 1, 1: 0})
    outcome = kernel.evaluate(schedule)
    assert (outcome.code, outcome.loop, outcome.slot) == (Code.LOOP, loop, 3)


@pytest.mark.parametrize("entries", [{0: 1, 1: 2, 2: 3}, {0: 1, 1: 0}, {0: 5, 5: 7, 7: 5}])
def test_integers_are_renewed_until_they_stay_or_come_again(make_kernel, carrier, entries):
    """From 0 along the table, which leaves what it does not have as it is; what came again is told from there on."""
    kernel, loop, _ = ring(make_kernel, carrier, entries)
    outcome, solution, iterates = kernel.solve(loop, LoopMethod.AUTO, np.empty(0))
    seen = [0]
    while entries.get(seen[-1], seen[-1]) not in seen:
        seen.append(entries[seen[-1]])
    last = entries.get(seen[-1], seen[-1])
    assert outcome.ok and iterates == () and solution.solver == "evaluation"
    if last == seen[-1]:
        assert solution.converged and kernel.integers.tolist() == [last] * 4
        assert solution.iterations == len(seen)
    else:
        assert solution.status is SolutionStatus.SWITCHING
        assert solution.switched.tolist() == [[value] for value in [*seen[seen.index(last) :], last]]


@pytest.mark.parametrize(("torn", "held"), [([0], []), ([1], [1])])
def test_doubles_are_torn_and_integers_held(make_kernel, carrier, torn, held):
    kernel = make_kernel(2, [0])
    with pytest.raises(ValueError, match=r"slot [01] holds (integers and cannot be torn|a double, which is torn)"):
        kernel.loop(LoopCalls(torn, (), [1.0], 0.0, 1e-9, 10, held))


def test_contents_are_forgotten_except_for_those_that_are_needed_or_kept(make_kernel):
    kernel = make_kernel(1, integers=[0])
    empty = kernel.content_bytes
    a, b, c, d = (kernel.number(content) for content in (b"a", b"b", b"c", b"d"))
    assert kernel.number(b"b", keep=True) == b
    assert kernel.forget([c]) == [a, d]
    assert (kernel.content(b), kernel.content(c), kernel.content(0)) == (b"b", b"c", b"")
    with pytest.raises(IndexError, match="forgotten"):
        kernel.content(a)
    assert kernel.number(b"a") == kernel.contents - 1 == d + 1
    assert kernel.forget([]) == [c, d + 1]
    assert kernel.content_bytes == empty + 64 + 1
