"""Terminals as the FMU states them: members in order, nested ones by their full names, and what cannot be read."""

import pytest

from ssptool.errors import UnusableFile
from ssptool.fmu.terminals import read_terminals
from tests.editing.small_systems import fmu
from tests.editing.test_terminals import INERTIA, flange


def test_an_fmu_without_the_file_has_no_terminals(tmp_path):
    assert read_terminals(fmu(tmp_path, "M", INERTIA)) == {}


def test_stream_members_are_members_for_both_directions(tmp_path):
    stream = (
        '<TerminalStreamMemberVariable inStreamMemberName="h_in" inStreamVariableName="hi" '
        'outStreamMemberName="h_out" outStreamVariableName="ho"/>'
    )
    terminals = read_terminals(fmu(tmp_path, "M", INERTIA, flange("port", inner=stream)))
    assert [(each.name, each.variable) for each in terminals["port"].members][-2:] == [("h_in", "hi"), ("h_out", "ho")]


@pytest.mark.parametrize(
    ("terminals", "reason"),
    [
        ("<a>", "line 1"),
        ('<a><Terminals><Terminal matchingRule="plug"/></Terminals></a>', "Terminal has no attribute name"),
        (flange("b", members=["x="]), "no attribute variableName"),
    ],
)
def test_unreadable_terminals_say_why(tmp_path, terminals, reason):
    with pytest.raises(UnusableFile) as caught:
        read_terminals(fmu(tmp_path, "M", INERTIA, terminals))
    assert reason in str(caught.value)


def test_an_unpacked_fmu_is_read_too(tmp_path):
    (tmp_path / "terminalsAndIcons").mkdir()
    (tmp_path / "terminalsAndIcons" / "terminalsAndIcons.xml").write_text(flange("b"))
    assert [member.variable for member in read_terminals(tmp_path)["b"].members] == ["phi", "w", "tau"]


def test_a_file_that_is_no_zip_is_said_to_be_none(tmp_path):
    (tmp_path / "x.fmu").write_text("no zip")
    with pytest.raises(UnusableFile, match="not an intact zip archive"):
        read_terminals(tmp_path / "x.fmu")
