"""Elements are wrapped, unwrapped, moved and duplicated, and everything means what it meant."""

import re
import shutil
import tempfile
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ssptool
from tests.editing.small_systems import DUAL_MASS, errors, refused, snapshot
from tests.network.packages import bindings, component, content, mapped, model, package, ssd, ssm, ssv, system, values
from tests.network.packages import wires as wires_of

M = model(
    'parameter k Real start="1" unit="m"; input u Real start="0" unit="m"; input v Real start="0" unit="mm"; '
    'output y Real unit="m"; output z Real unit="mm"'
)
INTERFACE = "input u Real m, input v Real mm, output y Real m, output z Real mm, parameter k Real m"
LINEAR = "||<ssc:LinearTransformation factor='3' offset='-2'/>"


def flattened(path: Path, without: str = "Group") -> tuple[dict[str, tuple[float, float]], dict[str, object]]:
    """Wires and values of a system, with names in which a system is left out."""
    network = ssptool.flatten(path)
    cut = re.compile(rf"\b{without}\.")
    wires = {cut.sub("", name): treated for name, treated in wires_of(network).items()}
    return wires, {cut.sub("", name): value for name, value in values(network).items()}


def four(folder: Path, wires: list[str], bound: str = "", more: str = "") -> Path:
    """A system with the inputs a and b, the output c, and four components."""
    elements = [component(name, "m", INTERFACE, more if name == "B" else "") for name in "ABCD"]
    package(folder, ssd(content("input a Real m, input b Real mm, output c Real m", elements, wires, bound)), {"m": M})
    return folder


WIRES = [
    f"a -> A.u{LINEAR}",
    "b -> B.v",
    "A.y -> B.u",
    "A.y -> C.u",
    "B.z -> C.v",
    "C.z -> D.u",  # mm → m
    f"D.y -> A.v{LINEAR}",  # m → mm
    "C.y -> c",
    "D.z -> D.v",
]
BOUND = bindings(ssv("A.k Real value='5' unit='mm'", "B.k Real value='2' unit='m'", "D.u Real value='3' unit='m'"))
OWN = bindings(ssv("k Real value='7' unit='m'"))


@pytest.mark.parametrize("names", [some for n in (1, 2, 3, 4) for some in combinations("ABCD", n)], ids="".join)
def test_a_wrapped_system_means_the_same_and_is_unwrapped_again(tmp_path, names):
    path = four(tmp_path / "s", WIRES, BOUND, OWN)
    before = flattened(path)
    with ssptool.edit(path) as made:
        made.wrap(*names, name="Group")
    assert errors(path) == []
    assert {one.rpartition(".")[0] for one in ssptool.flatten(path).components} == (
        {"Group"} if len(names) == 4 else {"", "Group"}
    )
    assert flattened(path, "Group") == before
    with ssptool.edit(path) as made:
        made.unwrap("Group")
    assert flattened(path) == before


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ABCD"), st.booleans()), min_size=1, max_size=6), st.randoms())
def test_elements_are_moved_in_and_out_without_a_change(steps, random):
    folder = Path(tempfile.mkdtemp())
    try:
        path = four(folder / "s", random.sample(WIRES, 6), BOUND)
        before = flattened(path)
        with ssptool.edit(path) as made:
            made.add_system("Group")
        inside = set()
        for name, inwards in steps:
            if (name in inside) is inwards:
                continue
            with ssptool.edit(path) as made:
                made.move(name if inwards else f"Group.{name}", into="Group" if inwards else "")
            inside ^= {name}
            assert flattened(path, "Group") == before, (name, inwards)
            assert errors(path) == []
    finally:
        shutil.rmtree(folder)


def test_runs_have_the_same_bits(tmp_path):
    path = Path(shutil.copytree(DUAL_MASS, tmp_path / "s"))
    whole = ssptool.simulate(path, accuracy="off")
    with ssptool.edit(path) as made:
        made.wrap("System1", name="Front")
    wrapped = ssptool.simulate(path, accuracy="off")
    assert (wrapped["Front.System1.x1"] == whole["System1.x1"]).all()


def test_a_nested_system_with_bindings_of_its_own_is_unwrapped(tmp_path):
    inside = [component("A", "m", INTERFACE), component("B", "m", INTERFACE)]
    own = mapped(ssv("x Real value='4' unit='m'"), ssm("source='x' target='A.k'"))
    nested = system("Sub", "input i Real m, output o Real mm", inside, ["i -> A.u", "A.y -> B.u", "B.z -> o"], own)
    outer = bindings(ssv("Sub.B.k Real value='6' unit='mm'"))
    wires = [f"a -> Sub.i{LINEAR}", "Sub.o -> C.u"]
    root = content("input a Real m", [nested, component("C", "m", INTERFACE)], wires, outer)
    package(tmp_path / "s", ssd(root), {"m": M})
    before = flattened(tmp_path / "s", "Sub")
    assert before[1]["A.k"] == 4.0 and before[1]["B.k"] == 0.006
    with ssptool.edit(tmp_path / "s") as made:
        made.unwrap("Sub")
    assert flattened(tmp_path / "s") == before
    assert errors(tmp_path / "s") == []


def refusing(folder: Path, outer: str = "", inner: str = "", unit: str = "m", bound: str = "") -> Path:
    nested = system("Sub", f"input i Real {unit}", [component("A", "m", INTERFACE)], [f"i -> A.u{inner}"])
    package(folder, ssd(content("input a Real m", [nested], [f"a -> Sub.i{outer}"], bound)), {"m": M})
    return folder


@pytest.mark.parametrize(
    ("outer", "inner", "unit", "bound", "hint"),
    [
        (LINEAR, LINEAR, "m", "", "both treat the value"),
        (LINEAR, "", "mm", "", "converts mm and m, and its other part"),
        ("", LINEAR, "mm", "", "converts mm and m, and its other part"),
        ("", "", "m", bindings(ssv("Sub.i Real value='1' unit='m'")), "gives Sub.i a value"),
    ],
)
def test_what_would_change_its_meaning_is_refused(tmp_path, outer, inner, unit, bound, hint):
    path = refusing(tmp_path / "s", outer, inner, unit, bound)
    with refused(path, hint) as made:
        made.unwrap("Sub")
    with refused(path, hint) as made:
        made.move("Sub.A", into="")


def test_a_system_that_feeds_itself_is_not_unwrapped(tmp_path):
    nested = system(
        "Sub", "input i Real m, output o Real m", [component("A", "m", INTERFACE)], ["i -> A.u", "A.y -> o"]
    )
    package(tmp_path / "s", ssd(content("", [nested], ["Sub.o -> Sub.i"])), {"m": M})
    with refused(tmp_path / "s", "connected with itself") as made:
        made.unwrap("Sub")


def test_names_and_places_that_do_not_fit_are_refused(tmp_path):
    path = four(tmp_path / "s", WIRES)
    with ssptool.edit(path) as made:
        made.wrap("A", "B", name="Group").wrap("Group.A", name="Inner")
    for call, hint in (
        (lambda made: made.wrap("C", name="D"), "already an element 'D'"),
        (lambda made: made.wrap("C", "Group.B", name="X"), "different systems"),
        (lambda made: made.move("Group.Inner.A", into=""), "neither inside"),
        (lambda made: made.move("Group", into="Group.Inner"), "neither inside"),
        (lambda made: made.move("Group", into="Group"), "into itself"),
        (lambda made: made.unwrap("C"), "not a system"),
        (lambda made: made.unwrap(""), "root system"),
        (lambda made: made.wrap(name="X"), "at least one element"),
    ):
        with refused(path, hint) as made:
            call(made)


def test_a_copy_has_the_values_of_its_original(tmp_path):
    path = four(tmp_path / "s", WIRES, BOUND, OWN)
    wires, before = flattened(path)
    with ssptool.edit(path) as made:
        made.duplicate("A").duplicate("B", "Spare").duplicate("A")
    assert errors(path) == []
    _, after = flattened(path)
    assert {name: value for name, value in after.items() if name in before} == before
    assert after["A2.k"] == after["A3.k"] == 0.005
    assert after["Spare.k"] == before["B.k"] == 2.0
    assert wires_of(ssptool.flatten(path)).keys() == wires.keys()
    with ssptool.edit(path) as made:
        made.remove("A2", "A3", "Spare")
    assert flattened(path)[1] == before


@pytest.mark.parametrize("shared", [False, True])
def test_a_set_for_one_element_is_bound_to_its_copy_too(tmp_path, shared):
    """By the prefix of its binding; also where another variant binds the set as well."""
    bound = bindings('source="a.ssv" prefix="A."')
    root = ssd(content("", [component("A", "m", INTERFACE)], ["A.y -> A.u"], bound))
    files = {"a.ssv": ssv("k Real value='5' unit='mm'")} | ({"Other.ssd": root} if shared else {})
    package(tmp_path / "s", root, {"m": M}, files)
    other = snapshot(tmp_path / "s").get("Other.ssd")
    with ssptool.edit(tmp_path / "s") as made:
        made.duplicate("A")
    assert flattened(tmp_path / "s")[1] == {"A.k": 0.005, "A2.k": 0.005}
    assert snapshot(tmp_path / "s").get("Other.ssd") == other


def test_a_copy_has_no_identifiers_and_a_free_place(tmp_path):
    placed = '<ssd:ElementGeometry x1="10" y1="20" x2="90" y2="50" rotation="90"/>'
    element = (
        component("A", "m", INTERFACE)
        .replace("<ssd:Component", '<ssd:Component id="one"')
        .replace("</ssd:Component>", f"{placed}</ssd:Component>")
    )
    package(tmp_path / "s", ssd(content("", [element], ["A.y -> A.u"])), {"m": M})
    with ssptool.edit(tmp_path / "s") as made:
        made.duplicate("A")
        copy = made.system.elements[1]
        geometry = copy.geometry
        assert copy.id is None and geometry.rotation == 90.0
        assert (geometry.x2 - geometry.x1, geometry.y2 - geometry.y1) == (80.0, 30.0)
        assert geometry.x1 >= 90.0 or geometry.y1 >= 50.0


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (bindings(ssv("A.k Real value='5' unit='mm'", "B.k Real value='9' unit='m'")), 0.005),
        (mapped(ssv("x Real value='4' unit='m'"), ssm(f"source='x' target='A.k'{LINEAR[1:]}")), 10.0),
        (bindings('source="a.ssv" prefix="A."'), 0.006),
        (OWN, 7.0),
    ],
    ids=["set", "mapping", "file", "own"],
)
def test_a_copy_in_another_system_has_the_values_of_its_original(tmp_path, inner, expected):
    """From bindings that reach it, and from those that do not, by bindings of the copy; connections stay behind."""
    of_a = OWN if inner is OWN else ""
    group = system("G", "", [component("A", "m", INTERFACE, of_a)], ["A.y -> A.u"], "" if inner is OWN else inner)
    other = system("H", "", [component("A", "m", INTERFACE)], ["A.z -> A.v"])
    outer = bindings(ssv("H.A.k Real value='8' unit='m'"))
    root = ssd(content("input a Real m, output c Real m", [group, other], ["a -> c"], outer))
    package(tmp_path / "s", root, {"m": M}, {"a.ssv": ssv("k Real value='6' unit='mm'")})
    before = values(ssptool.flatten(tmp_path / "s"))
    wires = wires_of(ssptool.flatten(tmp_path / "s"))
    with ssptool.edit(tmp_path / "s") as made:
        made.duplicate("G.A", into="").duplicate("G.A", "Spare", into="H")
    after = values(ssptool.flatten(tmp_path / "s"))
    assert before["G.A.k"] == pytest.approx(expected)
    assert after["A.k"] == after["H.Spare.k"] == before["G.A.k"]
    assert {name: one for name, one in after.items() if name in before} == before
    assert wires_of(ssptool.flatten(tmp_path / "s")) == wires
    assert errors(tmp_path / "s") == []
    with ssptool.edit(tmp_path / "s") as made:
        made.remove("A", "H.Spare")
    assert values(ssptool.flatten(tmp_path / "s")) == before


def test_a_copy_takes_a_free_name_in_the_other_system_and_is_refused_inside_itself(tmp_path):
    path = four(tmp_path / "s", WIRES, BOUND, OWN)
    with ssptool.edit(path) as made:
        made.wrap("A", "B", name="Group").duplicate("Group.A", into="").duplicate("Group.A", into="")
        made.duplicate("Group", "Other", into="")
    with ssptool.edit(path, save=False) as made:
        names = [one.name for one in made.system.elements]
    assert names == ["Group", "C", "D", "A", "A2", "Other"]
    with refused(path, "into itself") as made:
        made.duplicate("Group", into="Group")
    after = values(ssptool.flatten(path))
    assert after["A.k"] == after["A2.k"] == after["Other.A.k"] == after["Group.A.k"] == 0.005
