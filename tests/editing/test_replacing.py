"""Another FMU for a component: what breaks is listed, what only differs is adapted."""

import pytest

import ssptool
from ssptool.editing.changes import RefusedEdit
from tests.editing.small_systems import FMUS, changed_lines, errors, fmu, model, refused, ssd
from tests.editing.test_setting import value_of
from tests.network.packages import bindings, component, content, package, ssv

OLD = 'output y Real unit="m"; output n Integer; parameter k Real unit="m" start="1"'


@pytest.fixture
def chain(tmp_path):
    """`A` (of `Old`) drives `B`; `A.k` is set."""
    elements = [component("A", "Old", "output y Real m, output n Integer"), component("B", "Sink", "input u Real m")]
    root = content("", elements, ["A.y -> B.u"], bindings(ssv("A.k Real value='3' unit='m'")))
    package(tmp_path / "chain", ssd(root), {"Old": model(OLD), "Sink": model('input u Real unit="m" start="0"')})
    return tmp_path / "chain"


def weights(path, name, new):
    with ssptool.edit(path, save=False) as made:
        return {(str(each.weight), each.name) for each in made.consequences(name, new)}


def test_the_same_interface_breaks_nothing(dual_mass):
    assert weights(dual_mass, "System2", FMUS / "fmi3" / "System2.fmu") == set()


def test_a_swap_changes_one_line(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.replace("System1", FMUS / "fmi3" / "System1.fmu")
        sources = [line.partition("source=")[2] for line in changed_lines(made) if "source=" in line]
    same = ' implementation="CoSimulation">'
    assert sources == [f'"resources/System1.fmu"{same}', f'"resources/System1_2.fmu"{same}']
    assert errors(dual_mass) == []
    assert value_of(dual_mass, "System1.m1") == 1.0


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ('output n Integer; parameter k Real unit="m" start="1"', {("breaks", "A.y")}),
        ('input y Real unit="m" start="0"; output n Integer; parameter k Real unit="m" start="1"', {("breaks", "A.y")}),
        ('output y Real unit="N"; output n Integer; parameter k Real unit="m" start="1"', {("breaks", "A.y")}),
        ('output y Real unit="mm"; output n Integer; parameter k Real unit="m" start="1"', {("changes", "A.y")}),
        ('output y Real unit="m"; output n Boolean; parameter k Real unit="m" start="1"', {("changes", "A.n")}),
        ('output y Real unit="m"; output n Integer', {("breaks", "A.k")}),
        ('output y Real unit="m"; output n Integer; output k Real', {("breaks", "A.k"), ("new", "A.k")}),
        ('output y Real unit="m"; output n Integer; parameter k Integer start="1"', {("breaks", "A.k")}),
        ('output y Real unit="m"; output n Integer; parameter k Real unit="mm" start="1"', {("changes", "A.k")}),
        ('output y Real unit="m"; output n Integer; parameter k Real unit="N" start="1"', {("breaks", "A.k")}),
        (OLD + '; input extra Real start="0"', {("new", "A.extra")}),
    ],
)
def test_consequences_are_listed(tmp_path, chain, variables, expected):
    assert weights(chain, "A", fmu(tmp_path, "New", model(variables))) == expected


def test_what_breaks_is_refused_with_the_connections_concerned(tmp_path, chain):
    new = fmu(tmp_path, "New", model("output n Integer"))
    with refused(chain, "A.y: no such variable (connection of A.y and B.u)", RefusedEdit) as made:
        made.replace("A", new)


def test_what_breaks_is_replaced_if_forced(tmp_path, chain):
    new = fmu(tmp_path, "New", model("output n Integer"))
    with ssptool.edit(chain, force=True) as made:
        made.replace("A", new, force=True)
    assert any("FMU-002" in error for error in errors(chain))


def test_a_type_that_differs_becomes_that_of_the_new_fmu(tmp_path, chain):
    new = fmu(tmp_path, "New", model(OLD.replace("n Integer", "n Boolean")))
    with ssptool.edit(chain) as made:
        made.replace("A", new)
    assert errors(chain) == []


def test_a_type_that_no_longer_fits_its_connection_is_not_saved(tmp_path, chain):
    new = fmu(tmp_path, "New", model(OLD.replace('y Real unit="m"', "y Boolean")))
    with refused(chain, "SSD-CONN-008", ssptool.exceptions.BrokenEdit) as made:
        made.replace("A", new)


@pytest.mark.parametrize(
    ("name", "new", "hint"),
    [("C", "Old.fmu", "'C'"), ("", "Old.fmu", "is a system, not a component"), ("A", "Old.fmu", "already")],
)
def test_what_cannot_be_replaced_is_explained(chain, name, new, hint):
    with refused(chain, hint) as made:
        made.replace(name, new)
