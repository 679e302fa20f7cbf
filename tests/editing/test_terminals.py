"""Terminals are connected member by member, by their matching rules."""

import pytest

import ssptool
from tests.editing.small_systems import errors, fmu, model, refused
from tests.network.packages import wires

INERTIA = model("output phi Real; output w Real; input tau Real start='0'; output other Real")
SPRING = model("input phi Real start='0'; input w Real start='0'; output tau Real; input other Real start='0'")


def flange(name, rule="plug", members=("phi", "w", "tau"), kind="rotational", inner=""):
    """A file of one terminal whose members have the names of their variables."""
    lines = "".join(
        f'<TerminalMemberVariable variableName="{each.split("=")[-1]}" memberName="{each.split("=")[0]}" '
        'variableKind="signal"/>'
        for each in members
    )
    return (
        '<fmiTerminalsAndIcons fmiVersion="3.0"><Terminals>'
        f'<Terminal name="{name}" matchingRule="{rule}" terminalKind="{kind}">{lines}{inner}</Terminal>'
        "</Terminals></fmiTerminalsAndIcons>"
    )


def made(tmp_path, one, other):
    with ssptool.new(tmp_path / "made") as system:
        system.add(fmu(tmp_path, "inertia1", INERTIA, one), fmu(tmp_path, "spring1", SPRING, other))
    return tmp_path / "made"


@pytest.mark.parametrize("rule", ["plug", "bus", "sequence"])
def test_flanges_are_connected_member_by_member(tmp_path, rule):
    path = made(tmp_path, flange("flange_b", rule), flange("flange_a", rule))
    with ssptool.edit(path) as system:
        system.connect("inertia1.flange_b", "spring1.flange_a")
        assert system.notes == (
            "connected inertia1.phi → spring1.phi",
            "connected inertia1.w → spring1.w",
            "connected spring1.tau → inertia1.tau",
        )
    assert errors(path) == []
    with ssptool.edit(path) as system:
        system.disconnect("spring1.flange_a", "inertia1.flange_b")
        assert len(system.notes) == 3


def test_members_of_a_bus_that_are_on_one_side_only_are_left_out(tmp_path):
    path = made(tmp_path, flange("b", "bus"), flange("a", "bus", ["phi", "extra=w"]))
    with ssptool.edit(path) as system:
        system.connect("inertia1.b", "spring1.a")
        assert system.notes == ("connected inertia1.phi → spring1.phi",)


def test_a_sequence_goes_by_order_whatever_the_names(tmp_path):
    path = made(tmp_path, flange("b", "sequence", ["=phi"]), flange("a", "sequence", ["x=other"]))
    with ssptool.edit(path) as system:
        system.connect("inertia1.b", "spring1.a")
        assert system.notes == ("connected inertia1.phi → spring1.other",)


def test_a_terminal_inside_another_has_a_name_with_a_dot(tmp_path):
    member = '<TerminalMemberVariable variableName="other" memberName="o"/>'
    inner = f'<Terminal name="in" matchingRule="plug">{member}</Terminal>'
    path = made(tmp_path, flange("b", inner=inner), flange("a", inner=inner))
    with ssptool.edit(path) as system:
        system.connect("inertia1.b.in", "spring1.a.in")
        assert system.notes == ("connected inertia1.other → spring1.other",)


@pytest.mark.parametrize(
    ("one", "other", "hint"),
    [
        (flange("b"), flange("a", members=["phi", "w"]), "only one of inertia1.b and spring1.a has the members tau"),
        (flange("b"), flange("a", rule="bus"), "matched by 'plug', spring1.a by 'bus'"),
        (flange("b"), flange("a", kind="translational"), "of kind 'rotational', spring1.a of kind 'translational'"),
        (flange("b", "none"), flange("a", "none"), "does not say which members belong together"),
        (flange("b", "sequence"), flange("a", "sequence", ["phi"]), "3 members, spring1.a 1"),
        (flange("b", "bus", ["phi"]), flange("a", "bus", ["w"]), "no member in common"),
        (
            flange("b", members=["x=phi"]),
            flange("a", members=["x=tau"]),
            "inertia1.phi is an output, spring1.tau an output",
        ),
        (
            flange("b", members=["x=k"]),
            flange("a", members=["x=tau"]),
            "no connector for 'k', a member of its terminal 'b'",
        ),
    ],
)
def test_terminals_that_do_not_match_are_refused_and_nothing_is_connected(tmp_path, one, other, hint):
    path = made(tmp_path, one, other)
    with refused(path, hint) as system:
        system.connect("inertia1.b", "spring1.a")


def test_a_terminal_and_an_element_do_not_go_together(tmp_path):
    path = made(tmp_path, flange("b"), flange("a"))
    with refused(path, "inertia1.b is a terminal, spring1 is an element") as system:
        system.connect("inertia1.b", "spring1")


def test_a_broken_file_of_terminals_is_reported_when_it_is_needed(tmp_path):
    path = made(tmp_path, "<fmiTerminalsAndIcons", flange("a"))
    with refused(path, "the terminals of inertia1 cannot be used") as system:
        system.connect("inertia1.b", "spring1.a")
    with ssptool.edit(path) as system:
        system.connect("inertia1.phi", "spring1.phi")


def pin(*kinds):
    """The members v, a signal, and i with the given `variableKind`, of the terminals p1, p2 ..."""
    members = (
        f'<Terminal name="p{number}" matchingRule="plug"><TerminalMemberVariable variableName="v" memberName="v"/>'
        f'<TerminalMemberVariable variableName="i" memberName="i" variableKind="{kind}"/></Terminal>'
        for number, kind in enumerate(kinds, 1)
    )
    return f'<fmiTerminalsAndIcons fmiVersion="3.0"><Terminals>{"".join(members)}</Terminals></fmiTerminalsAndIcons>'


def circuit(tmp_path, source, sink, type="Real"):
    """A supply whose voltage is given and whose current is taken, and two loads the other way round."""
    supply = model(f"output v Real; input i {type} start='0'")
    load = model(f"input v Real start='0'; output i {type}")
    with ssptool.new(tmp_path / "made") as system:
        system.add(fmu(tmp_path, "supply", supply, pin(source)))
        for name in ("load", "other"):
            system.add(fmu(tmp_path, "load", load, pin(sink)), name=name)
    return tmp_path / "made"


def found(path):
    return [one.code for one in ssptool.validate(path).diagnostics if one.code == "SSD-CONN-102"]


@pytest.mark.parametrize(
    ("source", "sink", "factor"),
    [("inflow", "inflow", -1.0), ("outflow", "outflow", -1.0), ("inflow", "outflow", 1.0), ("outflow", "inflow", 1.0)],
)
def test_what_flows_into_one_component_flows_out_of_the_other(tmp_path, source, sink, factor):
    path = circuit(tmp_path, source, sink)
    with ssptool.edit(path) as system:
        system.connect("supply.p1", "load.p1")
    assert wires(ssptool.flatten(path)) == {"supply.v -> load.v": (1.0, 0.0), "load.i -> supply.i": (factor, 0.0)}
    assert found(path) == []


@pytest.mark.parametrize(("source", "sink"), [("inflow", "signal"), ("signal", "outflow")])
def test_a_flow_and_a_signal_are_refused_by_name(tmp_path, source, sink):
    path = circuit(tmp_path, source, sink)
    with refused(path, f"supply.i is of variableKind '{source}', load.i of '{sink}'") as system:
        system.connect("supply.p1", "load.p1")


def test_three_flows_at_one_node_are_refused_by_name(tmp_path):
    path = circuit(tmp_path, "inflow", "inflow")
    with ssptool.edit(path) as system:
        system.connect("supply.p1", "load.p1")
    with refused(path, "supply.i already has a source, load.i") as system:
        system.connect("supply.p1", "other.p1")


def test_a_flow_that_two_others_would_take_is_refused_by_name(tmp_path):
    alone = flange("p", members=["i"]).replace('"signal"', '"inflow"')
    with ssptool.new(tmp_path / "made") as system:
        system.add(fmu(tmp_path, "supply", model("output i Real"), alone))
        for name in ("load", "other"):
            system.add(fmu(tmp_path, "load", model("input i Real start='0'"), alone), name=name)
        system.connect("supply.p", "load.p")
    assert found(tmp_path / "made") == []
    with refused(tmp_path / "made", "supply.i is a flow and is connected already (supply.i and load.i)") as system:
        system.connect("supply.p", "other.p")
    with ssptool.edit(tmp_path / "made") as system:
        system.connect("supply.i", "other.i", factor=-1.0)
    assert found(tmp_path / "made") == ["SSD-CONN-102"]


def test_flows_that_are_no_real_numbers_have_no_factor_and_are_refused(tmp_path):
    path = circuit(tmp_path, "inflow", "inflow", "Integer")
    with refused(path, "is of type Int32: a factor and an offset are for floating-point numbers") as system:
        system.connect("supply.p1", "load.p1")
