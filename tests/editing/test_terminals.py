"""Terminals are connected member by member, by their matching rules."""

import pytest

import ssptool
from tests.editing.small_systems import errors, fmu, model, refused

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
