"""Inputs of every type, driven and overridden."""

import pytest

import ssptool
from tests.engine.carriers import TYPES, write_system

BIG = 2**62 + 1  # no double is this number
FIRST = {"Boolean": "false", "String": "a", "Enumeration": "a"}
SECOND = {"Boolean": "true", "String": "κ", "Enumeration": "b", "Int64": str(BIG), "UInt64": str(2**64 - 1)}
FOUND = {"Boolean": True, "String": "κ", "Enumeration": 2, "Int64": BIG, "UInt64": 2**64 - 1}
SETTINGS = ssptool.Settings(step_size=0.5)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_values_of_every_type_jump_without_loss(carriers, tmp_path, version, master):
    """On their way from A to B through a connection as well; nothing goes through double."""
    kinds = TYPES[version]
    wires = [f"A.{kind}_is -> B.{kind}_u" for kind in kinds]
    system = write_system(tmp_path / "system", carriers, [("A", version), ("B", version)], wires)
    path = tmp_path / "inputs.csv"
    rows = [
        ["time", *(f"A.{kind}_u" for kind in kinds)],
        ["0", *(FIRST.get(kind, "0") for kind in kinds)],
        ["0.5", *(SECOND.get(kind, "3") for kind in kinds)],
    ]
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    settings = ssptool.Settings(step_size=0.5, master=master)
    with ssptool.Simulation(system, inputs=ssptool.types.Inputs(path, "hold"), settings=settings) as run:
        assert run.step() == 0.5
        for kind in kinds:
            assert run.get(f"B.{kind}_is") == FOUND.get(kind, 3), kind
        run.step()
        for kind in kinds:
            assert run.get(f"A.{kind}_was") == FOUND.get(kind, 3), kind


@pytest.mark.parametrize("version", [2, 3])
def test_connected_inputs_of_every_type_are_overridden(carriers, tmp_path, version):
    kinds = TYPES[version]
    wires = [f"A.{kind}_is -> B.{kind}_u" for kind in kinds]
    system = write_system(tmp_path / "system", carriers, [("A", version), ("B", version)], wires)
    value = {"Boolean": True, "String": "κ", "Enumeration": "b"}
    events = [ssptool.types.Event(0.5, f"B.{kind}_u", "override", value.get(kind, 3)) for kind in kinds]
    with ssptool.Simulation(system, scenario=ssptool.types.Scenario(tuple(events), end=1.0), settings=SETTINGS) as run:
        before = {kind: run.get(f"B.{kind}_is") for kind in kinds}
        run.step()
        assert [run.get(f"B.{kind}_is") for kind in kinds] == [{**value, "Enumeration": 2}.get(k, 3) for k in kinds]
        run.step()
        assert {kind: run.get(f"B.{kind}_is") for kind in kinds} == before


def test_a_boolean_and_a_text_cannot_be_biased(carriers, tmp_path):
    system = write_system(tmp_path / "system", carriers, [("A", 3), ("B", 3)], ["A.Int32_is -> B.Int32_u"])
    events = tuple(ssptool.types.Event(0.5, f"A.{kind}_u", "bias", True) for kind in ("Boolean", "String"))
    with pytest.raises(ssptool.exceptions.BadData, match=r"a Boolean cannot be biased.*\n.*a String cannot be biased"):
        ssptool.simulate(system, scenario=ssptool.types.Scenario(events))


def test_an_integer_out_of_range_is_refused(carriers, tmp_path):
    system = write_system(tmp_path / "system", carriers, [("A", 3), ("B", 3)], ["A.Int32_is -> B.Int32_u"])
    with pytest.raises(ssptool.exceptions.BadData, match="found 200, expected an integer from -128 to 127"):
        ssptool.simulate(system, inputs={"A.Int8_u": 200})


def test_an_empty_text_in_a_file_is_a_text(carriers, tmp_path):
    """For values of other types a value is missing."""
    system = write_system(tmp_path / "system", carriers, [("A", 3), ("B", 3)], ["A.String_is -> B.String_u"])
    path = tmp_path / "inputs.csv"
    long = "κ" * 200_000
    path.write_text(f'time,A.String_u,A.Int8_u\n0,{long},1\n0.5,"",2\n1," ",3\n', encoding="utf-8")
    run = ssptool.simulate(system, inputs=path, settings=SETTINGS)
    assert run.trace["B.String_u"].tolist() == [long, long, "", "", " "]
    path.write_text('time,A.String_u,A.Int8_u\n0,a,1\n0.5,"",\n', encoding="utf-8")
    with pytest.raises(ssptool.exceptions.BadData, match=r"inputs.csv:3: A.Int8_u: a value is missing"):
        ssptool.simulate(system, inputs=path, settings=SETTINGS)
