"""To the editor an array is one variable, whose values stand in parameter sets."""

import pytest

import ssptool
from ssptool.editing.changes import EditError, UnknownName
from tests.fmu.array_fmus import component, connector, pack, state_space, values, write_system


@pytest.fixture
def system(tmp_path):
    folder = tmp_path / "system"
    (folder / "resources").mkdir(parents=True)
    pack(folder / "resources" / "S.fmu", state_space(2, 2, 2))
    connectors = [connector("u", "input", 2), connector("y", "output", 2)]
    parts = [component(name, "resources/S.fmu", connectors) for name in "AB"]
    return write_system(folder, parts, ["A.y -> B.u"], values("A.x0", [1, 2], 2))


def test_single_values_of_arrays_are_not_set(system):
    with ssptool.edit(system, save=False) as made, pytest.raises(EditError, match=r"A\.x0 is an array"):
        made.set("A.x0", 1.0)
    with ssptool.edit(system, save=False) as made, pytest.raises(UnknownName, match=r"A\.x0\[1\]"):
        made.set("A.x0[1]", 1.0)


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
