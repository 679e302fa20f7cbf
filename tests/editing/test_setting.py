"""A value goes to where the one in force comes from, in the unit that stands there."""

import re

import pytest

import ssptool
from ssptool.editing.changes import EditError
from ssptool.errors import UnknownName
from ssptool.fmu.units import COMMON_NAMES
from ssptool.network.conversion import InvalidValue
from tests.editing.small_systems import changed_lines, errors, refused, snapshot, ssd
from tests.network.packages import bindings, component, content, mapped, model, package, ssm, ssv, system

ENUMERATION = (
    '<SimpleType name="Gear"><Enumeration><Item name="first" value="1"/><Item name="second" value="2"/>'
    "</Enumeration></SimpleType>"
)
PLANT = model(
    'parameter k Real unit="m" start="1"; parameter n Integer start="1"; parameter on Boolean start="false"; '
    'parameter text String start="a"; parameter gear Enumeration declaredType="Gear" start="1"; '
    'parameter t Real unit="degC" start="20"; output y Real unit="m"',
    types=ENUMERATION,
)


def plant(folder, bound="", inner="", files=None, version="2.0"):
    """The FMU `P` in the root system, and another in `Sub`; `bound` to the root system, `inner` to `P`."""
    sub = system("Sub", "parameter q Real m", [component("P", "Plant")], [])
    root = content("", [component("P", "Plant", bound=inner), sub], [], bound)
    package(folder, ssd(root, version), {"Plant": PLANT}, files)
    return folder


def value_of(path, name, variant=None):
    found = {str(signal): each.value for signal, each in ssptool.flatten(path, variant=variant).assignments.items()}
    return found.get(name)


def test_the_value_in_force_is_edited_and_nothing_else(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.set("System1.m1", 2)
        parameter = '    <ssv:Parameter name="System1.m1" description="Mass 1">{}</ssv:Parameter>'
        assert changed_lines(made) == [
            "-" + parameter.format('<ssv:Real value="1" unit="kg"/>'),
            "+" + parameter.format('<ssv:Real value="2" unit="kg"/>'),
        ]
        assert made.notes == ("set System1.m1 = 2 kg in resources/dual_mass_oscillator.ssv",)
    assert value_of(dual_mass, "System1.m1") == 2.0


def test_setting_the_old_value_again_gives_back_the_bytes(dual_mass):
    before = snapshot(dual_mass)
    for value in ("3.50", "0.2"):
        with ssptool.edit(dual_mass) as made:
            made.set("System1.c1", value)
    assert snapshot(dual_mass) == before


def test_what_was_typed_is_written_as_it_was_typed(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.set("System1.k1", "1.50e1")
        assert 'value="1.50e1"' in changed_lines(made)[1]


def test_a_new_parameter_goes_into_the_last_set_of_the_system(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.set("System2.m_c", 2)
        assert [line.strip("+ ") for line in changed_lines(made)] == [
            '<ssv:Parameter name="System2.m_c">',
            '<ssv:Real value="2" unit="kg"/>',
            "</ssv:Parameter>",
        ]
    assert value_of(dual_mass, "System2.m_c") == 2.0
    assert errors(dual_mass) == []


def test_a_common_unit_need_not_be_defined_anywhere(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.set("System1.x1_start", 20, unit="mm")
        assert '<ssc:BaseUnit m="1" factor="0.001"/>' in [line.strip("+ ") for line in changed_lines(made)]
    assert value_of(dual_mass, "System1.x1_start") == pytest.approx(0.02)
    assert errors(dual_mass) == []


def test_a_set_that_other_variants_use_gets_no_new_parameters(variants):
    with ssptool.edit(variants) as made:
        made.set("System2.m_c", 2)
        assert [edit.name for edit in made.archive.edits()] == ["SystemStructure.ssd"]
    assert value_of(variants, "System2.m_c") == 2.0
    assert value_of(variants, "System2.m_c", "FMI3.ssd") is None
    assert errors(variants) == []


def test_editing_a_value_that_other_variants_use_says_so(variants):
    with ssptool.edit(variants) as made:
        made.set("System1.m1", 2)
        assert made.notes[0].endswith("which FMI1.ssd, FMI3.ssd, Mixed.ssd, NoFlange.ssd use as well")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_without_any_set_an_inline_one_is_made(tmp_path, version):
    path = plant(tmp_path, version=version)
    with ssptool.edit(path) as made:
        made.set("P.k", 2).set("P.n", 3).set("P.on", True).set("P.text", "a b").set("P.gear", "second")
    assert {name: value_of(path, f"P.{name}") for name in ("k", "n", "on", "text", "gear")} == {
        "k": 2.0,
        "n": 3,
        "on": True,
        "text": "a b",
        "gear": 2,
    }
    assert errors(path) == []
    assert ("ssv:Float64" in (path / "SystemStructure.ssd").read_text()) == (version == "2.0")


def test_a_named_set_is_made_and_bound(tmp_path):
    path = plant(tmp_path)
    with ssptool.edit(path) as made:
        made.set("P.k", 2, into="values.ssv").set("Sub.P.k", 3, into="values.ssv")
    assert (value_of(path, "P.k"), value_of(path, "Sub.P.k")) == (2.0, 3.0)
    assert sorted(snapshot(path)) == ["SystemStructure.ssd", "resources/Plant.fmu", "resources/values.ssv"]
    assert errors(path) == []


def test_a_set_that_is_not_bound_can_be_edited(variants):
    with ssptool.edit(variants) as made:
        made.set("System2.m_c", 4, into="resources/heavy_flange.ssv")
        assert "which SystemStructure.ssd does not bind" in made.notes[0]
        assert len(changed_lines(made)) == 2
    assert value_of(variants, "System2.m_c") is None


def test_the_winning_binding_is_edited_an_outer_one_or_the_last(tmp_path):
    path = plant(
        tmp_path,
        bound=bindings(ssv("P.k Real value='2' unit='m'"), ssv("P.k Real value='3' unit='m'")),
        inner=bindings(ssv("k Real value='4' unit='m'", "n Integer value='5'")),
    )
    with ssptool.edit(path) as made:
        made.set("P.k", 30)
        assert [line.count('value="3') + line.count("value='3") for line in changed_lines(made)] == [1, 1]
        made.set("P.n", 50)
    assert (value_of(path, "P.k"), value_of(path, "P.n")) == (30.0, 50)


def test_a_value_goes_back_through_prefix_mapping_and_unit(tmp_path):
    """k = 2 · (mm → m) + 1: for k = 5 m the set says (5 − 1)/2 m = 2000 mm."""
    values, mapping = (
        ssv("length Real value='1' unit='mm'"),
        ssm("source='x.length' target='P.k'|<ssc:LinearTransformation factor='2' offset='1'/>"),
    )
    path = plant(tmp_path, bound=mapped(values, mapping, "prefix='x.'"))
    with ssptool.edit(path) as made:
        made.set("P.k", 5)
        assert "value='2000'" in changed_lines(made)[1] or 'value="2000"' in changed_lines(made)[1]
    assert value_of(path, "P.k") == 5.0


def test_without_a_unit_the_value_is_in_the_unit_of_the_variable(tmp_path):
    path = plant(tmp_path, bound=bindings(ssv("P.k Real value='1' unit='mm'", "P.t Real value='300' unit='K'")))
    with ssptool.edit(path) as made:
        made.set("P.k", 2).set("P.t", 30)
    assert value_of(path, "P.k") == 2.0
    assert value_of(path, "P.t") == pytest.approx(30.0, abs=1e-12)
    text = (path / "SystemStructure.ssd").read_text()
    assert "2000" in text and "303.15" in text


def test_a_stated_unit_is_written_with_the_value(tmp_path):
    path = plant(tmp_path, bound=bindings(ssv("P.k Real value='1' unit='m'")))
    with ssptool.edit(path) as made:
        made.set("P.k", 5, unit="mm").set("P.t", 300, unit="K")
        assert "set P.k = 5 mm" in made.notes[0]
    assert value_of(path, "P.k") == pytest.approx(0.005, rel=1e-15)
    assert value_of(path, "P.t") == pytest.approx(26.85, abs=1e-12)
    assert errors(path) == []


def test_a_type_that_cannot_hold_the_value_is_replaced(tmp_path):
    path = plant(tmp_path, bound=bindings(ssv("P.k Integer value='1'")))
    with ssptool.edit(path) as made:
        made.set("P.k", 2.5)
    assert value_of(path, "P.k") == 2.5
    assert errors(path) == []


def test_the_connector_of_a_system_takes_values_too(tmp_path):
    path = plant(tmp_path)
    for value in (2, 3):
        with ssptool.edit(path) as made:
            made.set("Sub.q", value)
    assert (path / "SystemStructure.ssd").read_text().count("Sub.q") == 1
    assert errors(path) == []


def test_the_bounds_of_the_fmu_hold(tmp_path):
    plain = model('parameter k Real unit="m" min="0" max="9" start="1"')
    package(tmp_path, ssd(content("", [component("P", "Plant")], [])), {"Plant": plain})
    with refused(tmp_path, "P.k cannot be 10000: its FMU allows 0 to 9") as made:
        made.set("P.k", 10000)
    with ssptool.edit(tmp_path) as made:
        made.set("P.k", 8999, unit="mm")


def test_other_variables_that_change_as_well_are_named(tmp_path):
    mapping = ssm("source='a' target='P.k'", "source='a' target='Sub.P.k'")
    path = plant(tmp_path, bound=mapped(ssv("a Real value='1' unit='m'"), mapping))
    with ssptool.edit(path) as made:
        made.set("P.k", 2)
        assert made.notes[1:] == ("that changes Sub.P.k as well",)


REFUSED = [
    (("System1.mm1", 2), {}, "'System1.mm1'; did you mean System1.m1", UnknownName),
    (("System1.a1", 2), {}, "its FMU calculates it", ValueError),
    (("System1.m1", "heavy"), {}, "expected a number", InvalidValue),
    (("System1.m1", 2), {"unit": "m"}, "a value in m cannot be converted to kg", ValueError),
    (("System1.m1", 2), {"unit": "kgg"}, "'kgg'; did you mean kg", UnknownName),
    (("System1.m1", 2), {"into": "values.txt"}, "has to end in .ssv", ValueError),
]


@pytest.mark.parametrize(("arguments", "options", "hint", "kind"), REFUSED)
def test_values_that_cannot_be_set_are_explained(dual_mass, arguments, options, hint, kind):
    with refused(dual_mass, hint, kind) as made:
        made.set(*arguments, **options)


def test_a_value_that_would_not_be_in_force_is_refused(tmp_path):
    files = {"resources/low.ssv": ssv("k Real value='1' unit='m'"), "resources/high.ssv": ssv("P.k Real value='2'")}
    path = plant(
        tmp_path,
        bound=bindings("source='resources/high.ssv'"),
        inner=bindings("source='resources/low.ssv'"),
        files=files,
    )
    with refused(
        path, "P.k = 5 in resources/low.ssv would have no effect: the value in resources/high.ssv wins"
    ) as made:
        made.set("P.k", 5, into="resources/low.ssv")


def test_a_new_parameter_that_would_not_be_in_force_is_refused(tmp_path):
    files = {"resources/early.ssv": ssv("P.n Integer value='1'"), "resources/late.ssv": ssv("P.k Real value='2'")}
    path = plant(tmp_path, bound=bindings("source='resources/early.ssv'", "source='resources/late.ssv'"), files=files)
    with refused(
        path, "P.k = 5 in resources/early.ssv would have no effect: the value in resources/late.ssv wins"
    ) as made:
        made.set("P.k", 5, into="early.ssv")


def test_a_value_behind_a_table_is_refused(tmp_path):
    table = "<ssc:IntegerMappingTransformation><ssc:MapEntry source='1' target='2'/></ssc:IntegerMappingTransformation>"
    path = plant(tmp_path, bound=mapped(ssv("a Integer value='1'"), ssm(f"source='a' target='P.n'|{table}")))
    with refused(path, "P.n comes from a through a mapping that cannot be inverted") as made:
        made.set("P.n", 5)


def test_items_of_an_enumeration_are_checked(tmp_path):
    with refused(plant(tmp_path), "one of first, second", InvalidValue) as made:
        made.set("P.gear", "third")


def test_a_set_that_is_bound_with_a_prefix_takes_no_new_value_that_it_does_not_reach(tmp_path):
    """Bound once more as a whole it would set more than was asked for."""
    inner = bindings("source='p.ssv' prefix='Sub.'")
    path = plant(tmp_path, bound=inner, files={"p.ssv": ssv("q Real value='1'")})
    before = snapshot(path)
    with pytest.raises(EditError, match=r"p\.ssv is bound with a prefix"), ssptool.edit(path) as made:
        made.set("P.k", 1, into="p.ssv")
    assert snapshot(path) == before


def test_a_value_that_goes_back_through_a_mapping_has_no_digits_of_rounding(tmp_path):
    """0.0149995 m are 14.9995 mm, though 0.0149995 · 1000 is not quite that."""
    mapping = ssm("source='length' target='P.k'|<ssc:LinearTransformation factor='0.001'/>")
    path = plant(tmp_path, bound=mapped(ssv("length Real value='1' unit='m'"), mapping))
    with ssptool.edit(path) as made:
        made.set("P.k", "0.0149995")
        assert "value='14.9995'" in changed_lines(made)[1]
    assert value_of(path, "P.k") == pytest.approx(0.0149995, rel=1e-15)


def driven(folder):
    """The parameter `p` of the system is connected to `A.k`, the output `A.y` to `B.u`."""
    fmu = model('output y Real unit="m"; parameter k Real unit="m" start="1"; input u Real unit="m" start="0"')
    connectors = "output y Real m, parameter k Real m, input u Real m"
    parts = [component(name, "M", connectors) for name in "AB"]
    package(folder, ssd(content("parameter p Real m", parts, ["p -> A.k", "A.y -> B.u"])), {"M": fmu})
    return folder


def test_a_parameter_that_a_connection_drives_is_not_set_in_vain(tmp_path):
    path = driven(tmp_path / "system")
    with ssptool.edit(path) as made:
        made.set("p", 2)
    lines = (path / "SystemStructure.ssd").read_text().splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if 'endElement="A" endConnector="k"' in text)
    why = rf"A\.k cannot be 3: a connection \(SystemStructure\.ssd:{line}\) gives it the value of p, 2; set p, or "
    before = snapshot(path)
    with pytest.raises(EditError, match=why), ssptool.edit(path) as made:
        made.set("A.k", 3)
    assert snapshot(path) == before
    with ssptool.edit(path) as made:
        made.disconnect("p", "A.k").set("A.k", 3)
    assert value_of(path, "A.k") == 3.0


def test_a_start_value_of_a_driven_input_is_set_with_a_note(tmp_path):
    path = driven(tmp_path / "system")
    with ssptool.edit(path) as made:
        made.set("B.u", 4)
        assert made.notes[-1] == "A.y is connected to B.u: the value holds until the run exchanges values"
    assert value_of(path, "B.u") == 4.0


def bound_twice(folder):
    """The systems `L` and `R`, each with the FMU `M`, and each with the same parameter set bound."""
    values = bindings('source="resources/k.ssv"')
    parts = [system(name, "", [component("M", "Plant")], [], values) for name in "LR"]
    package(
        folder,
        ssd(content("", parts, [])),
        {"Plant": PLANT},
        {"resources/k.ssv": ssv('M.k Real value="5" unit="m"', 'M.n Integer value="2"')},
    )
    return folder


def test_a_parameter_set_that_is_bound_twice_is_edited_for_all_or_copied_or_not_at_all(tmp_path):
    path = bound_twice(tmp_path / "system")
    with refused(
        path, "L.M.k has its value from resources/k.ssv, and so has R.M.k: use --shared all to edit it for all"
    ) as made:
        made.set("L.M.k", 6)
    with ssptool.edit(path, shared="copy") as made:
        made.set("L.M.k", 6)
        assert "+++ b/resources/k_2.ssv" in made.diff()
        assert made.notes[0] == "L has a copy of resources/k.ssv: resources/k_2.ssv"
    assert [value_of(path, f"{name}.M.k") for name in "LR"] == [6.0, 5.0]
    assert [value_of(path, f"{name}.M.n") for name in "LR"] == [2, 2]
    with ssptool.edit(path) as made:
        made.set("L.M.k", 7).set("R.M.k", 8)
    assert [value_of(path, f"{name}.M.k") for name in "LR"] == [7.0, 8.0]


def test_with_shared_all_both_change_and_the_other_one_is_named(tmp_path):
    path = bound_twice(tmp_path / "system")
    with ssptool.edit(path, shared="all") as made:
        made.set("L.M.k", 6)
        assert made.notes[-1] == "that changes R.M.k as well"
    assert [value_of(path, f"{name}.M.k") for name in "LR"] == [6.0, 6.0]


def test_a_set_that_one_element_binds_several_times_is_edited_at_once(tmp_path):
    """Nobody else has its value from there; with a prefix it matches nothing."""
    values = bindings(
        'source="resources/k.ssv"', 'source="resources/k.ssv" prefix="Other."', 'source="resources/k.ssv"'
    )
    path = tmp_path / "system"
    part = system("L", "", [component("M", "Plant")], [], values)
    package(path, ssd(content("", [part], [])), {"Plant": PLANT}, {"resources/k.ssv": ssv('M.k Real value="5"')})
    with ssptool.edit(path) as made:
        made.set("L.M.k", 6)
        assert made.notes == ("set L.M.k = 6 m in resources/k.ssv",)
    assert value_of(path, "L.M.k") == 6.0


def test_unset_asks_as_well(tmp_path):
    path = bound_twice(tmp_path / "system")
    with refused(path, "use --shared all") as made:
        made.unset("L.M.k")
    with ssptool.edit(path, shared="copy") as made:
        made.unset("L.M.k")
    assert [value_of(path, f"{name}.M.k") for name in "LR"] == [None, 5.0]


def test_a_unit_that_cannot_be_converted_for_want_of_one_is_refused(tmp_path):
    """20 mm would be the number 20 to a model that may mean 20 m; 20 m are 20 either way."""
    coil = model("parameter L Real start='1'; output y Real")
    package(tmp_path / "bare", ssd(content("", [component("A", "Coil")], [])), {"Coil": coil})
    with (
        ssptool.edit(tmp_path / "bare") as made,
        pytest.raises(EditError, match=r"A\.L has no unit, so 20 mm"),
    ):
        made.set("A.L", 20, unit="mm")
    with ssptool.edit(tmp_path / "bare") as made:
        made.set("A.L", 20, unit="m")
    stated = content("", [component("A", "Coil", "parameter L Real m")], [])
    package(tmp_path / "stated", ssd(stated), {"Coil": coil})
    with ssptool.edit(tmp_path / "stated") as made:
        made.set("A.L", 20, unit="mm")
    assert (value_of(tmp_path / "bare", "A.L"), value_of(tmp_path / "stated", "A.L")) == (20.0, 0.02)


def test_an_unknown_unit_lists_each_known_one_once(dual_mass):
    """The FMUs define N and other units that are common ones as well."""
    with pytest.raises(UnknownName) as caught, ssptool.edit(dual_mass) as made:
        made.set("System1.m1", 3, unit="foo")
    shown, more = re.fullmatch(r"there is no unit 'foo'; there are (.*) and (\d+) more", str(caught.value)).groups()
    names = shown.split(", ")
    assert len(set(names)) == len(names) == 12
    assert "N" in names
    assert int(more) < len(COMMON_NAMES)
