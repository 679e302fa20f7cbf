"""Every edit has its inverse: unset, unbind and unmap give back the bytes that set, bind and map changed."""

import shutil

import pytest

import ssptool
from ssptool.errors import UnknownName
from tests.editing.small_systems import DUAL_MASS, FMUS, changed_lines, errors, refused, snapshot
from tests.editing.test_setting import plant, value_of
from tests.network.packages import bindings, mapped, ssm, ssv

SET = ssv("P.k Real value='2' unit='m'", "P.n Integer value='3'")


@pytest.mark.parametrize(
    ("name", "value"), [("P.k", 3), ("P.n", 4), ("P.on", True), ("P.text", "b"), ("P.gear", "second"), ("Sub.q", 2)]
)
@pytest.mark.parametrize("into", [None, "bound.ssv"])
def test_set_and_unset_give_the_bytes_back(tmp_path, name, value, into):
    path = plant(tmp_path / "s")
    if into:
        with ssptool.edit(path) as made:
            made.set("P.t", 20, into=into)
    before = snapshot(path)
    with ssptool.edit(path) as made:
        made.set(name, value, into=into)
    assert snapshot(path) != before
    with ssptool.edit(path) as made:
        made.unset(name)
    assert snapshot(path) == before


def test_the_next_value_in_the_order_of_precedence_holds_then_and_is_told(tmp_path):
    """The outer binding wins over that of the element, and that over the start value 1."""
    path = plant(tmp_path / "s", bindings(ssv("P.k Real value='2'")), bindings(ssv("k Real value='5'")))
    with ssptool.edit(path) as made:
        made.unset("P.k")
        assert made.notes[-1].endswith("its value is 5 m now, from another parameter")
    assert value_of(path, "P.k") == 5.0
    with ssptool.edit(path) as made:
        made.unset("P.k")
        assert made.notes[-1].endswith("its value is 1 m, the start value in the FMU")
    assert value_of(path, "P.k") is None
    with refused(path, "no document gives P.k a value, so there is nothing to unset") as made:
        made.unset("P.k")


def test_only_the_parameter_and_the_unit_that_it_alone_had_go(tmp_path):
    path = plant(
        tmp_path / "s",
        '<ssd:ParameterBindings><ssd:ParameterBinding source="resources/v.ssv"/></ssd:ParameterBindings>',
        files={"resources/v.ssv": SET},
    )
    with ssptool.edit(path) as made:
        made.unset("P.k")
        assert changed_lines(made)[0] == "-<ssv:Parameter name=\"P.k\"><ssv:Real value='2' unit='m'/></ssv:Parameter>"
        assert all("Unit" in line for line in changed_lines(made)[1:])
    assert value_of(path, "P.n") == 3
    assert errors(path) == []


def test_one_of_several_sets_can_be_named(tmp_path):
    files = {"resources/a.ssv": ssv("P.k Real value='2'"), "resources/b.ssv": ssv("P.k Real value='3'")}
    both = bindings('source="resources/a.ssv"', 'source="resources/b.ssv"')
    path = plant(tmp_path / "s", both, files=files)
    with ssptool.edit(path) as made:
        made.unset("P.k", into="a.ssv")
    assert value_of(path, "P.k") == 3.0
    with refused(path, "c.ssv does not give P.k a value, but resources/b.ssv") as made:
        made.unset("P.k", into="c.ssv")


def test_a_parameter_that_matches_nothing_can_be_removed_by_its_name(tmp_path):
    path = plant(tmp_path / "s", bindings(ssv("P.kk Real value='2'", "P.k Real value='3'")))
    with ssptool.edit(path) as made:
        made.unset("P.kk")
        assert made.notes[-1].endswith("nothing has that name")
    with refused(path, "'P.kkk'; did you mean P.k", UnknownName) as made:
        made.unset("P.kkk")


def test_of_a_parameter_with_two_names_only_the_one_loses_it(tmp_path):
    names = ssm("source='k' target='P.k'", "source='k' target='Sub.P.k'")
    path = plant(tmp_path / "s", mapped(ssv("k Real value='2'"), names))
    with ssptool.edit(path) as made:
        made.unset("Sub.P.k")
    assert (value_of(path, "P.k"), value_of(path, "Sub.P.k")) == (2.0, None)


def test_the_mapping_of_a_file_is_not_edited_for_one(tmp_path):
    bound = (
        '<ssd:ParameterBindings><ssd:ParameterBinding source="resources/v.ssv">'
        '<ssd:ParameterMapping source="resources/m.ssm"/></ssd:ParameterBinding></ssd:ParameterBindings>'
    )
    names = ssm("source='k' target='P.k'", "source='k' target='Sub.P.k'")
    path = plant(tmp_path / "s", bound, files={"resources/v.ssv": ssv("k Real value='2'"), "resources/m.ssm": names})
    with refused(path, "gives Sub.P.k its value, and P.k as well, through resources/m.ssm") as made:
        made.unset("Sub.P.k")


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("to", ["", "System2"])
def test_bind_and_unbind_give_the_bytes_back(dual_mass, inline, to):
    before = snapshot(dual_mass)
    with ssptool.edit(dual_mass) as made:
        made.bind(FMUS / "heavy_flange.ssv", to=to, inline=inline)
    assert snapshot(dual_mass) != before
    with ssptool.edit(dual_mass) as made:
        made.unbind("inline" if inline else "heavy_flange.ssv", to=to, with_resource=True)
    assert snapshot(dual_mass) == before


def test_a_file_that_something_else_uses_stays(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.bind("dual_mass_oscillator.ssv", to="System1", prefix="x.")
    with ssptool.edit(dual_mass) as made:
        made.unbind("dual_mass_oscillator.ssv", to="System1", with_resource=True)
        assert made.notes == ("unbound resources/dual_mass_oscillator.ssv from System1",)
    assert (dual_mass / "resources" / "dual_mass_oscillator.ssv").exists()


def test_which_of_several_bindings_is_asked_and_answered(tmp_path):
    path = plant(tmp_path / "s", bindings(ssv("P.k Real value='2'"), ssv("P.k Real value='3'")))
    with refused(path, "2 bindings of inline: choose one with --number 1 … 2") as made:
        made.unbind("inline")
    with refused(path, "there is no number 3") as made:
        made.unbind("inline", number=3)
    with refused(path, "no binding of x.ssv; it has inline") as made:
        made.unbind("x.ssv")
    with refused(path, "it has none at all") as made:
        made.unbind("inline", to="P")
    with ssptool.edit(path) as made:
        made.unbind("inline", number=2)
    assert value_of(path, "P.k") == 2.0


def test_map_and_unmap_give_the_bytes_back(tmp_path):
    """The mapping that `map` made says nothing any more, and goes."""
    path = plant(tmp_path / "s", bindings('source="resources/v.ssv"'), files={"resources/v.ssv": SET})
    before = snapshot(path)
    with ssptool.edit(path) as made:
        made.map("P.k", "Sub.P.k", factor=2)
    assert snapshot(path) != before
    with ssptool.edit(path) as made:
        made.unmap("P.k", "Sub.P.k")
    assert snapshot(path) == before


def test_a_mapping_that_still_means_something_stays(tmp_path):
    names = ssm("source='a' target='P.k'", "source='P.n' target='P.n'")
    path = plant(tmp_path / "s", mapped(ssv("a Real value='2'", "P.n Integer value='3'", "P.k Real value='9'"), names))
    with ssptool.edit(path) as made:
        made.unmap("a", "P.k")
    assert (value_of(path, "P.k"), value_of(path, "P.n")) == (None, 3)
    with ssptool.edit(path) as made:
        made.unmap_all()
    assert (value_of(path, "P.k"), value_of(path, "P.n")) == (9.0, 3)
    with refused(path, "has no mapping") as made:
        made.unmap_all()
    with refused(path, "has no mapping with an entry a=P.k") as made:
        made.unmap("a", "P.k")


def test_an_entry_that_is_not_there_is_told_with_the_nearest(tmp_path):
    path = plant(tmp_path / "s", mapped(ssv("a Real value='2'"), ssm("source='a' target='P.k'")))
    with refused(path, "has no entry a=P.n; did you mean a=P.k") as made:
        made.unmap("a", "P.n")


def test_the_default_experiment_is_set_and_taken_away(dual_mass):
    before = snapshot(dual_mass)
    with ssptool.edit(dual_mass) as made:
        made.set_experiment(stop=20)
        assert [line.strip() for line in changed_lines(made)][
            1
        ] == '+  <ssd:DefaultExperiment startTime="0" stopTime="20"/>'
    with ssptool.edit(dual_mass) as made:
        made.set_experiment(stop=10)
    assert snapshot(dual_mass) == before
    with ssptool.edit(dual_mass) as made:
        made.unset_experiment(start=True, stop=True)
        assert len(changed_lines(made)) == 1
    with refused(dual_mass, "states no stop time") as made:
        made.unset_experiment(stop=True)
    for wrong in ({"stop": -1.0}, {"start": float("nan")}, {"start": 3.0, "stop": 2.0}):
        with refused(dual_mass, "has to be a number") as made:
            made.set_experiment(**wrong)


def test_other_variants_that_have_the_set_are_named(dual_mass):
    """As `set` does: their values change, too."""
    shutil.copyfile(DUAL_MASS / "NoFlange.ssd", dual_mass / "NoFlange.ssd")
    with ssptool.edit(dual_mass) as made:
        made.set("System1.m1", 3).unset("System1.m1")
        *_, to, away = made.notes
    others = "which NoFlange.ssd uses as well"
    assert to == f"set System1.m1 = 3 kg in resources/dual_mass_oscillator.ssv, {others}"
    assert away.startswith(f"unset System1.m1 in resources/dual_mass_oscillator.ssv, {others}; its value is 1 kg, ")
