"""Bind and map: sets for elements, in files or inline, and new names for their parameters."""

import pytest

import ssptool
from ssptool.documents.diagnostics import InvalidDocument
from tests.editing.small_systems import FMUS, changed_lines, errors, refused, snapshot
from tests.editing.test_setting import plant, value_of
from tests.network.packages import bindings, ssm, ssv


def test_binding_a_file_adds_one_line_and_the_file(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.bind(FMUS / "heavy_flange.ssv")
        assert [line.strip("+ ") for line in changed_lines(made) if "ParameterBinding" in line] == [
            '<ssd:ParameterBinding source="resources/heavy_flange.ssv"/>'
        ]
        assert made.notes == ("bound resources/heavy_flange.ssv to the system: 1 of its 1 names match a variable",)
    assert value_of(dual_mass, "System2.m_c") == 2.0
    assert snapshot(dual_mass)["resources/heavy_flange.ssv"] == (FMUS / "heavy_flange.ssv").read_bytes()
    assert errors(dual_mass) == []


def test_a_later_binding_wins(tmp_path):
    path = plant(tmp_path / "p", bound=bindings(ssv("P.k Real value='1' unit='m'")))
    file = tmp_path / "late.ssv"
    file.write_text(ssv("P.k Real value='2' unit='m'"))
    with ssptool.edit(path) as made:
        made.bind(file)
    assert value_of(path, "P.k") == 2.0


def test_prefix_mapping_and_element_are_used(tmp_path):
    path = plant(tmp_path / "p")
    (tmp_path / "v.ssv").write_text(ssv("a Real value='2' unit='m'"))
    (tmp_path / "m.ssm").write_text(ssm("source='x.a' target='P.k'"))
    with ssptool.edit(path) as made:
        made.bind(tmp_path / "v.ssv", to="Sub", prefix="x.", mapping=tmp_path / "m.ssm")
    assert value_of(path, "Sub.P.k") == 2.0
    assert errors(path) == []


def test_an_inline_copy_needs_no_file(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.bind(FMUS / "heavy_flange.ssv", inline=True)
    assert value_of(dual_mass, "System2.m_c") == 2.0
    assert "resources/heavy_flange.ssv" not in snapshot(dual_mass)
    assert errors(dual_mass) == []


def test_names_that_match_nothing_are_told(dual_mass):
    with ssptool.edit(dual_mass, save=False) as made:
        made.bind(FMUS / "heavy_flange.ssv", to="System2", prefix="x.")
        assert made.notes[-1] == "nothing matches x.System2.m_c"


def test_only_parameter_sets_can_be_bound(dual_mass):
    with refused(dual_mass, "XML-003", InvalidDocument) as made:
        made.bind("SystemStructure.ssd")
    with refused(dual_mass, "missing.ssv", FileNotFoundError) as made:
        made.bind("missing.ssv")


def test_mapping_a_name_keeps_all_others(dual_mass):
    values = {name: value_of(dual_mass, name) for name in ("System1.m1", "System1.k1", "System2.k3", "System2.c3")}
    with ssptool.edit(dual_mass) as made:
        made.map("System1.m1", "System2.m2", factor=3)
        assert "keeps the 9 names that it used" in made.notes[0]
    assert value_of(dual_mass, "System2.m2") == 3.0
    assert {name: value_of(dual_mass, name) for name in values} == values
    assert errors(dual_mass) == []


def test_a_second_entry_adds_its_lines_only(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.map("System1.m1", "System2.m2")
    with ssptool.edit(dual_mass) as made:
        made.map("System2.m2", "System2.m_c", offset=1.5)
        assert [line.strip("+ ") for line in changed_lines(made)] == [
            '<ssm:MappingEntry source="System2.m2" target="System2.m_c">',
            '<ssc:LinearTransformation offset="1.5"/>',
            "</ssm:MappingEntry>",
        ]


@pytest.mark.parametrize(
    ("arguments", "options", "hint"),
    [
        (("System1.m2", "System2.m2"), {}, "did you mean System2.m2 or System1.m1"),
        (("System1.m1", "System2.m22"), {}, "did you mean System2.m2"),
        (("System1.m1", "System2.m2"), {"to": "System2"}, "System2 has no binding that can be mapped"),
        (("System1.m1", "System2.m2"), {"of": "other.ssv"}, "no binding of other.ssv"),
    ],
)
def test_what_cannot_be_mapped_is_explained(dual_mass, arguments, options, hint):
    with refused(dual_mass, hint) as made:
        made.map(*arguments, **options)


def test_a_target_begins_inside_the_element_of_the_binding(tmp_path):
    """What a message suggests can be done."""
    files = {"resources/p.ssv": ssv("mass Real value='7'")}
    path = plant(tmp_path, files=files)
    with ssptool.edit(path) as made:
        made.bind("resources/p.ssv", to="P")
    with refused(path, "P has no variable 'P.k'; did you mean k?") as made:
        made.map("mass", "P.k", to="P")
    with refused(path, "P has no variable 'kk'; did you mean k") as made:
        made.map("mass", "kk", to="P")
    with ssptool.edit(path) as made:
        made.map("mass", "k", to="P")
    assert value_of(path, "P.k") == 7.0


def test_one_target_has_one_entry(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.map("System1.m1", "System2.m2")
    with refused(dual_mass, "System2.m2 already gets its value from System1.m1") as made:
        made.map("System1.k1", "System2.m2")


def test_of_several_bindings_one_has_to_be_named(tmp_path):
    files = {f"resources/{name}.ssv": ssv(f"{name} Real value='1' unit='m'") for name in "ab"}
    path = plant(tmp_path, bound=bindings("source='resources/a.ssv'", "source='resources/b.ssv'"), files=files)
    with refused(path, "has 2 bindings (resources/a.ssv, resources/b.ssv): choose one with --of") as made:
        made.map("b", "P.k")
    with ssptool.edit(path) as made:
        made.map("b", "P.k", of="b.ssv")
    assert value_of(path, "P.k") == 1.0
