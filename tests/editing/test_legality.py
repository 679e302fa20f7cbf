"""Legality of a connection is one function: `connect`, `targets`, rules and completion agree."""

from itertools import product

import pytest

import ssptool
from ssptool.editing.changes import EditError
from ssptool.errors import WrongUsage
from tests.editing.small_systems import errors, fmu, refused

CAN = 'mimeType="application/org.fmi-standard.fmi-ls-bus.can; version=&quot;1.0.0&quot;"'


def described(name, variables):
    return (
        f'<fmiModelDescription fmiVersion="3.0" modelName="{name}" instantiationToken="{{1}}">'
        f'<CoSimulation modelIdentifier="{name}" hasEventMode="true"/><ModelVariables>{variables}</ModelVariables>'
        "<ModelStructure/></fmiModelDescription>"
    )


def port(name, first, rx_shape, transmits):
    """Variables of one bus terminal; `transmits` are the attributes of the clock of what it transmits."""
    data, triggered = f'variability="discrete" {CAN}', 'intervalVariability="triggered"'
    return (
        f'<Binary name="{name}.Rx_Data" valueReference="{first}" causality="input" {data} clocks="{first + 2}">'
        f'{rx_shape}<Start value=""/></Binary>'
        f'<Binary name="{name}.Tx_Data" valueReference="{first + 1}" causality="output" {data} clocks="{first + 3}"/>'
        f'<Clock name="{name}.Rx_Clock" valueReference="{first + 2}" causality="input" {triggered}/>'
        f'<Clock name="{name}.Tx_Clock" valueReference="{first + 3}" {transmits}/>'
    )


def terminals(*names, rule="org.fmi-ls-bus.transceiver", leave=""):
    members = ("Rx_Clock", "Rx_Data", "Tx_Clock", "Tx_Data")
    inside = "".join(
        f'<Terminal name="{name}" matchingRule="{rule}" terminalKind="org.fmi-ls-bus.network-terminal">'
        + "".join(
            f'<TerminalMemberVariable variableKind="signal" variableName="{name}.{one}" memberName="{one}"/>'
            for one in members
            if one != leave
        )
        + "</Terminal>"
        for name in names
    )
    return f'<fmiTerminalsAndIcons fmiVersion="3.0"><Terminals>{inside}</Terminals></fmiTerminalsAndIcons>'


TICKS, TRIGGERS = (
    f'causality="{causality}" intervalVariability="{interval}"'
    for causality, interval in (("input", "countdown"), ("output", "triggered"))
)
BUS = described("Bus", port("N1", 1, "", TICKS) + port("N2", 11, "", TICKS))
NODE = described("Node", port("Can", 1, '<Dimension start="1"/>', TRIGGERS))


@pytest.fixture
def can(tmp_path):
    """A bus simulation whose clocks tick by themselves, and two nodes with arrays of one element."""
    with ssptool.new(tmp_path / "can") as made:
        made.add(fmu(tmp_path, "Bus", BUS, terminals("N1", "N2")))
        for name in ("One", "Two"):
            made.add(fmu(tmp_path, "Node", NODE, terminals("Can")), name=name)
    return tmp_path / "can"


def test_a_bus_terminal_is_connected_by_one_edit_to_what_the_other_side_receives(can):
    with ssptool.edit(can) as made:
        made.connect("Bus.N1", "One.Can").connect("Two.Can", "Bus.N2")
        assert made.notes[:4] == (
            "connected Bus.N1.Tx_Data → One.Can.Rx_Data",
            "connected Bus.N1.Tx_Clock → One.Can.Rx_Clock",
            "connected One.Can.Tx_Data → Bus.N1.Rx_Data",
            "connected One.Can.Tx_Clock → Bus.N1.Rx_Clock",
        )
        indices = [(str(one.start), one.end_indices) for one in made.system.connections if one.end_indices]
    assert indices == [("Bus.N1.Tx_Data", (1,)), ("Bus.N2.Tx_Data", (1,))]
    assert errors(can) == []
    found = {(str(wire.source), str(wire.destination)) for wire in ssptool.flatten(can).wires}
    assert ("Bus.N2.Tx_Clock", "Two.Can.Rx_Clock") in found
    assert len(found) == 8


def test_targets_are_what_connect_takes_and_what_validates(can):
    with ssptool.edit(can, save=False) as made:
        ends = [(one.name, each.name) for one in made.system.elements for each in one.connectors]
        found = {(end, target.path) for end in ends for target in made.targets(end)}
        sources = {one.destination: [each.path for each in one.sources] for one in made.suggestions()}
    assert (("Bus", "N1.Tx_Clock"), ("One", "Can.Rx_Clock")) in found
    assert (("Bus", "N1.Tx_Clock"), ("One", "Can.Tx_Clock")) not in found
    assert ("Bus", "N1.Tx_Clock") not in sources
    assert ("Bus", "N2.Tx_Clock") in sources["One", "Can.Rx_Clock"]
    for a, b in product(ends, ends):
        if a[0] == "Bus" and b[0] != "Two":
            with ssptool.edit(can, save=False) as made:
                try:
                    made.connect(a, b)
                    taken = True
                except WrongUsage:
                    taken = False
            assert taken is ((a, b) in found), (a, b)


def test_two_clocks_that_tick_by_themselves_are_refused_as_two_outputs(can):
    with refused(can, "Bus.N1.Tx_Clock is a clock that ticks by itself (it counts as an output)") as made:
        made.connect("Bus.N1.Tx_Clock", "Bus.N2.Tx_Clock")


@pytest.mark.parametrize(
    ("change", "hint"),
    [({"leave": "Tx_Clock"}, "needs Tx_Data, Tx_Clock, Rx_Data, Rx_Clock"), ({"rule": "bus"}, "matched by")],
)
def test_a_bus_terminal_without_all_its_members_is_refused_by_name(can, tmp_path, change, hint):
    with ssptool.edit(can) as made:
        made.add(fmu(tmp_path, "Odd", NODE.replace("Node", "Odd"), terminals("Can", **change)))
    with refused(can, hint) as made:
        made.connect("Bus.N1", "Odd.Can")


def test_arrays_that_only_the_fmu_states_are_compared_too(tmp_path):
    three = '<Float64 name="u" valueReference="1" causality="input" start="1 2 3"><Dimension start="3"/></Float64>'
    one = '<Float64 name="y" valueReference="1" causality="output"/>'
    with ssptool.new(tmp_path / "made") as made:
        made.add(fmu(tmp_path, "A", described("A", one)), fmu(tmp_path, "B", described("B", three)))
    with ssptool.edit(tmp_path / "made", save=False, force=True) as made:
        for dimension in made.system.elements[1].connectors[0].dimensions:
            dimension.delete()
        assert made.targets("A.y") == ()
        with pytest.raises(EditError, match=r"A\.y is a scalar, B\.u \[3\]"):
            made.connect("A.y", "B.u")
