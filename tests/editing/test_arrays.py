"""To the editor an array is one variable, whose values stand in parameter sets."""

import subprocess
import sys

import numpy as np
import pytest

import ssptool
from ssptool.editing.changes import EditError
from tests.fmu.array_fmus import component, connector, pack, state_space, values, write_system


@pytest.fixture
def system(tmp_path):
    folder = tmp_path / "system"
    (folder / "resources").mkdir(parents=True)
    pack(folder / "resources" / "S.fmu", state_space(2, 2, 2))
    connectors = [connector("u", "input", 2), connector("y", "output", 2)]
    parts = [component(name, "resources/S.fmu", connectors) for name in "AB"]
    return write_system(folder, parts, ["A.y -> B.u"], values("A.x0", [1, 2], 2))


def starts(system) -> dict[str, object]:
    """The values that parameters give, by the elements of arrays."""
    return {str(signal): each.value for signal, each in ssptool.flatten(system).assignments.items()}


def text(system) -> str:
    return (system / "SystemStructure.ssd").read_text()


@pytest.mark.parametrize("value", ["3 4.50", [3, 4.5], (3.0, 4.5), np.array([[3.0], [4.5]])])
def test_an_array_is_set_by_all_of_its_values(system, value):
    with ssptool.edit(system) as made:
        made.set("A.x0", value)
    assert starts(system) == {"A.x0[1]": 3.0, "A.x0[2]": 4.5}
    assert 'value="3 4.50"' in text(system) or 'value="3 4.5"' in text(system) or 'value="3.0 4.5"' in text(system)


def test_the_values_of_a_matrix_stand_row_by_row(system):
    with ssptool.edit(system) as made:
        made.set("B.A", [[1, 2], [3, 4]]).set("B.A[2,1]", "7e0")
    assert [starts(system)[f"B.A[{row},{column}]"] for row in (1, 2) for column in (1, 2)] == [1.0, 2.0, 7.0, 4.0]
    assert 'value="1 2 7e0 4"' in text(system)
    with ssptool.edit(system) as made:
        made.unset("B.A")
        assert made.notes[-1].endswith("its value is -1 0 0 -1, the start value in the FMU")


def test_of_one_element_the_others_keep_their_digits(system):
    path = system / "SystemStructure.ssd"
    path.write_text(text(system).replace('value="1 2"', 'value="1.00  2e0"'))
    with ssptool.edit(system) as made:
        made.set("A.x0[2]", 5.5)
    assert 'value="1.00 5.5"' in text(system)


def test_one_element_of_an_array_without_parameter_takes_the_others_from_the_fmu(system):
    with ssptool.edit(system) as made:
        made.set("B.x0[2]", 8)
    assert (starts(system)["B.x0[1]"], starts(system)["B.x0[2]"]) == (1.0, 8.0)


def test_one_element_that_is_set_changes_no_other(system):
    """Also where the array had no parameter before, and the others now stand in one."""
    with ssptool.edit(system) as made:
        made.set("B.x0[2]", 8)
        assert made.notes == ("set B.x0[2] = 8 in the inline set of the system",)


def test_one_element_cannot_be_unset(system):
    why = r"A\.x0\[1\] is an element of the array A\.x0: unset A\.x0"
    with pytest.raises(EditError, match=why), ssptool.edit(system) as made:
        made.unset("A.x0[1]")


def test_the_command_line_takes_arrays_and_elements(system):
    run = [sys.executable, "-m", "ssptool", "set", str(system), "A.x0=3 4", "B.x0[1]=9"]
    assert subprocess.run(run, check=True, capture_output=True, text=True).stderr == ""
    found = starts(system)
    assert [found[name] for name in ("A.x0[1]", "A.x0[2]", "B.x0[1]", "B.x0[2]")] == [3.0, 4.0, 9.0, 1.0]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("A.x0", 1.0, "A.x0 cannot be '1': expected 2 values for an array"),
        ("A.x0", "1 2 3", "expected 2 values"),
        ("A.x0", "1 b", "'b'"),
        ("A.x0[3]", 1.0, r"A.x0 is an array \[2\]: its elements are \[1\] to \[2\]"),
        ("A.A[1]", 1.0, r"A.A is an array \[2, 2\]: its elements are \[1,1\] to \[2,2\]"),
        ("A.y[1]", 1.0, "takes no value"),
    ],
)
def test_what_no_array_can_be_is_refused(system, name, value, message):
    before = text(system)
    with pytest.raises((EditError, ValueError), match=message), ssptool.edit(system) as made:
        made.set(name, value)
    assert text(system) == before


def test_an_element_with_an_array_in_a_parameter_set_is_renamed(system):
    with ssptool.edit(system) as made:
        made.rename("A", "Left")
    network = ssptool.flatten(system)
    assert {str(signal): each.value for signal, each in network.assignments.items()} == {
        "Left.x0[1]": 1.0,
        "Left.x0[2]": 2.0,
    }
    assert [f"{wire.source} → {wire.destination}" for wire in network.wires] == [
        "Left.y[1] → B.u[1]",
        "Left.y[2] → B.u[2]",
    ]
