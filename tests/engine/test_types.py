"""Systems whose components exchange values of every type."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool import read_manifest
from ssptool.engine.failure import Ending
from tests.engine.carriers import TYPES, write_system
from tests.engine.running import run

BIG = 2**62 + 1  # no double is this number
START = {
    "Real": ('<ssv:Real value="0.1"/>', 0.1),
    "Float64": ('<ssv:Float64 value="0.1"/>', 0.1),
    "Float32": ('<ssv:Float32 value="0.5"/>', 0.5),
    "Integer": ('<ssv:Integer value="-7"/>', -7),
    "Boolean": ('<ssv:Boolean value="true"/>', True),
    "String": ('<ssv:String value="κ"/>', "κ"),
    "Enumeration": ('<ssv:Enumeration value="b"/>', 2),
    "Int64": (f'<ssv:Int64 value="{BIG}"/>', BIG),
    "UInt64": (f'<ssv:UInt64 value="{2**64 - 1}"/>', 2**64 - 1),
    **{f"Int{bits}": (f'<ssv:Int{bits} value="-5"/>', -5) for bits in (8, 16, 32)},
    **{f"UInt{bits}": (f'<ssv:UInt{bits} value="{2**bits - 1}"/>', 2**bits - 1) for bits in (8, 16, 32)},
}


@pytest.fixture
def system(carriers, tmp_path):
    return lambda *arguments: write_system(tmp_path / "system", carriers, *arguments)


@dataclass(frozen=True)
class Folder:
    path: Path

    def local_path(self, name):
        return self.path / name


def simulated(folder, **settings):
    plan = ssptool.plan(folder, settings=ssptool.Settings(**{"step_size": 0.5, **settings}))
    return run(plan, Folder(folder))


# Jacobi exchanges before both step, Gauss–Seidel lets B have at once what A has, and where interpolated inputs are
# iterated, integers stay what they were at the start of the step.
COUNTED = {"jacobi": [0, 0, 1, 1, 2], "gauss-seidel": [0, 0, 1, 2, 3], "iterated": [0, 0, 1, 1, 2]}


def given(name, kind):
    return f'<ssv:Parameter name="{name}.{kind}_u">{START[kind][0]}</ssv:Parameter>'


@pytest.mark.parametrize("version", [1, 2, 3])
def test_values_of_every_type_go_through_a_chain_unchanged(system, version):
    """What A is given is B's at once and C's after B has stepped."""
    kinds = TYPES[version]
    wires = [wire for kind in kinds for wire in (f"A.{kind}_is -> B.{kind}_u", f"B.{kind}_was -> C.{kind}_u")]
    folder = system([(name, version) for name in "ABC"], wires, "".join(given("A", kind) for kind in kinds))
    with ssptool.Simulation(folder, settings=ssptool.Settings(step_size=0.5)) as simulation:
        assert {kind: simulation.get(f"B.{kind}_is") for kind in kinds} == {k: START[k][1] for k in kinds}
        simulation.step()
        assert {kind: simulation.get(f"C.{kind}_is") for kind in kinds} == {k: START[k][1] for k in kinds}


def test_recorded_columns_keep_their_types_and_values(system):
    folder = system([("A", 3), ("B", 2)], ["A.Int32_is -> B.Integer_u"], given("A", "Int32") + given("A", "Boolean"))
    result = simulated(folder)
    trace = result.unwrap()
    types = dict(zip(trace.signals, trace.types, strict=True))
    assert (types["A.Boolean_is"], types["B.Integer_is"]) == ("Boolean", "Int32")
    assert trace["B.Integer_is"].tolist() == [-5, -5, -5]
    assert trace["B.Integer_was"].tolist() == [0, -5, -5]
    assert trace["A.Boolean_is"].tolist() == [1, 1, 1]
    assert trace["A.String_is"].tolist() == [""] * 3


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("ending", ["csv", "parquet", "h5"])
def test_values_of_every_type_are_recorded_exactly(system, tmp_path, isolated, ending):
    """In memory and in a file, whether or not they came from another process."""
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    kinds = TYPES[3]
    wires = [f"A.{kind}_was -> B.{kind}_u" for kind in kinds]
    folder = system([("A", 3), ("B", 3)], wires, "".join(given("A", kind) for kind in kinds))
    plan = ssptool.plan(folder, settings=ssptool.Settings(step_size=0.5))
    result = run(plan, Folder(folder), output=tmp_path / f"run.{ending}", isolated=isolated)
    for trace in (result.unwrap(), ssptool.read_trace(tmp_path / f"run.{ending}")):
        assert {kind: trace[f"A.{kind}_is"].tolist() for kind in kinds} == {k: [START[k][1]] * 3 for k in kinds}
        assert [trace[f"B.{kind}_is"].tolist()[-1] for kind in kinds] == [START[kind][1] for kind in kinds]
        assert trace["B.String_is"].tolist() == ["", "κ", "κ"]


def test_a_simulation_that_is_stepped_has_the_trace_of_a_run(system):
    folder = system([("A", 3), ("B", 3)], ["A.String_was -> B.String_u"], given("A", "String") + given("A", "UInt64"))
    whole = simulated(folder).unwrap()
    with ssptool.Simulation(folder, settings=ssptool.Settings(step_size=0.5)) as simulation:
        simulation.step(2)
        trace = simulation.trace
    assert trace.columns == whole.columns
    for signal in whole.signals:
        assert trace[signal].tolist() == whole[signal].tolist()


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_texts_that_would_not_arrive_are_refused(system, text):
    folder = system([("A", 3), ("B", 3)], ["A.String_was -> B.String_u"])
    with pytest.raises(ValueError, match=r"A\.String_u cannot be .*: expected a text without U\+0000"):
        ssptool.simulate(folder, settings=ssptool.Settings(step_size=0.5), start_values={"A.String_u": text})
    with ssptool.Simulation(folder, settings=ssptool.Settings(step_size=0.5)) as simulation:
        with pytest.raises(ValueError, match=r"A\.String_u cannot be .*: expected a value of type String"):
            simulation.set("A.String_u", text)
        simulation.step(2)


def test_a_mat_file_says_in_its_notes_what_it_lacks(system, tmp_path):
    folder = system([("A", 3), ("B", 3)], ["A.Boolean_was -> B.Boolean_u"], given("A", "String") + given("A", "UInt64"))
    plan = ssptool.plan(folder, settings=ssptool.Settings(step_size=0.5))
    result = run(plan, Folder(folder), output=tmp_path / "run.mat")
    told = [note for note in result.notes if note.startswith("run.mat")]
    assert "without A.String_u, A.String_was, A.String_is" in told[0]
    assert "lost digits of A.UInt64_u, A.UInt64_was, A.UInt64_is: MAT" in told[1]
    assert read_manifest(tmp_path / "run.mat")["notes"] == list(result.notes)
    assert ssptool.read_trace(tmp_path / "run.mat")["A.Int32_is"].dtype == np.int32


def mapped(kind, *pairs):
    entries = "".join(f'<ssc:MapEntry source="{a}" target="{b}"/>' for a, b in pairs)
    return f"|<ssc:{kind}MappingTransformation>{entries}</ssc:{kind}MappingTransformation>"


def test_mapping_transformations_replace_what_they_list(system):
    wires = [
        f"A.Boolean_is -> B.Boolean_u{mapped('Boolean', ('true', 'false'), ('false', 'true'))}",
        f"A.Integer_is -> B.Integer_u{mapped('Integer', (-7, 12))}",
        f"A.Enumeration_is -> B.Enumeration_u{mapped('Enumeration', ('b', 'a'))}",
    ]
    folder = system([("A", 2), ("B", 2)], wires, "".join(given("A", k) for k in ("Boolean", "Integer", "Enumeration")))
    trace = ssptool.simulate(folder, settings=ssptool.Settings(step_size=0.5)).unwrap()
    assert [trace[f"B.{kind}_is"][-1] for kind in ("Boolean", "Integer", "Enumeration")] == [0, 12, 1]


def test_mapping_transformations_know_the_largest_integers(system):
    wires = [
        f"A.UInt64_is -> B.UInt64_u{mapped('Integer', (2**64 - 1, 2**63), (0, 2**64 - 1))}",
        f"A.Int64_is -> B.Int64_u{mapped('Integer', (0, -(2**63)), (-1, 2**63 - 1))}",
    ]
    folder = system([("A", 3), ("B", 3)], wires, given("A", "UInt64"))
    trace = simulated(folder).unwrap()
    assert (trace["B.UInt64_is"][-1], trace["B.Int64_is"][-1]) == (2**63, -(2**63))


def test_integers_widen_to_real_numbers(system):
    folder = system(
        [("A", 3), ("B", 3)],
        ["A.Int16_is -> B.Float64_u", "A.UInt8_is -> B.Int32_u"],
        given("A", "Int16") + given("A", "UInt8"),
    )
    trace = ssptool.simulate(folder, settings=ssptool.Settings(step_size=0.5)).unwrap()
    assert (trace["B.Float64_is"][0], trace["B.Int32_is"][0]) == (-5.0, 255)


@pytest.mark.parametrize("master", COUNTED)
def test_two_components_count_back_and_forth(system, master):
    """B has what A had, and one more; A has what B had."""
    more = mapped("Integer", *((n, n + 1) for n in range(4)))
    folder = system([("A", 2), ("B", 2)], [f"A.Integer_was -> B.Integer_u{more}", "B.Integer_was -> A.Integer_u"])
    trace = simulated(folder, step_size=0.25, master=master).unwrap()
    assert trace["A.Integer_was"].tolist() == COUNTED[master]


def test_a_loop_of_integers_settles(system):
    """Each is what the other is, and one more as long as that is less than 3."""
    more = mapped("Integer", *((n, n + 1) for n in range(3)))
    folder = system([("A", 2), ("B", 2)], [f"A.Integer_is -> B.Integer_u{more}", "B.Integer_is -> A.Integer_u"])
    trace = simulated(folder).unwrap()
    assert set(trace["A.Integer_is"]) == set(trace["B.Integer_is"]) == {3}


def test_a_loop_of_integers_that_never_settles_is_reported(system):
    back_and_forth = mapped("Integer", (0, 1), (1, 0))
    folder = system(
        [("A", 2), ("B", 2)], [f"A.Integer_is -> B.Integer_u{back_and_forth}", "B.Integer_is -> A.Integer_u"]
    )
    result = simulated(folder)
    assert result.status is Ending.LOOP
    assert "_is goes through 0, 1" in str(result.failure)
