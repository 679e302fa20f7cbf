"""Names with dots: every split that exists is found, and only that."""

from pathlib import Path

import pytest

from ssptool.documents.archive import Archive
from ssptool.editing.changes import EditError
from ssptool.editing.draft import ConnectorPlace, Place
from ssptool.editing.names import find, find_element, find_system
from ssptool.errors import AmbiguousName, UnknownName
from tests.editing.small_systems import SINK, SOURCE, nested, ssd
from tests.network.packages import component, content, package, system


def root_of(folder: Path):
    return Archive.open(folder).structure().structure.system


def dotted(folder: Path):
    """Elements `A`, `A.B` and `Sub.C` beside the system `Sub` with an element `C`: names that collide."""
    elements = [
        component("A", "Source", "output B.y Real"),
        component("A.B", "Source", "output y Real, output z Real"),
        system("Sub", "", [component("C", "Sink", "input u Real")], []),
        component("Sub.C", "Sink", "input i Integer"),
    ]
    package(folder, ssd(content("", elements, [])), {"Source": SOURCE, "Sink": SINK})
    return root_of(folder)


def test_a_nested_connector_is_found_by_its_full_name(tmp_path):
    found = find(root_of(nested(tmp_path)), "Sub.B.u")
    assert (str(found), found.owner.path) == ("Sub.B.u", ("Sub", "B"))


def test_an_element_with_a_dot_in_its_name_is_found(tmp_path):
    assert find(dotted(tmp_path), "A.B.z").owner.path == ("A.B",)


def test_a_name_with_two_readings_lists_both(tmp_path):
    with pytest.raises(AmbiguousName) as caught:
        find(dotted(tmp_path), "A.B.y")
    assert caught.value.candidates == ("the connector 'B.y' of A", "the connector 'y' of A.B")


def test_the_parts_of_a_name_as_a_tuple_are_never_ambiguous(tmp_path):
    root = dotted(tmp_path)
    assert find(root, ("A", "B.y")).owner.path == ("A",)
    assert find(root, ("A.B", "y")).owner.path == ("A.B",)
    with pytest.raises(AmbiguousName):
        find_element(root, "Sub.C")
    assert find_element(root, ("Sub", "C")).path == ("Sub", "C")
    assert find_element(root, ("Sub.C",)).path == ("Sub.C",)


def test_elements_and_connectors_are_told_apart(tmp_path):
    root = root_of(nested(tmp_path))
    assert isinstance(find(root, "Sub"), Place)
    assert isinstance(find(root, "Sub.u"), ConnectorPlace)


@pytest.mark.parametrize("name", ["", ".", "root"])
def test_the_root_system_has_the_empty_name_or_its_own(tmp_path, name):
    place, found = find_system(root_of(nested(tmp_path)), name)
    assert (place.path, found.name) == ((), "root")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Subb.B.u", "mean Sub.B.u"), ("Sub.B.v", "there are u"), ("Zebra", "there is no element"), ("A.yy", "mean y?")],
)
def test_an_unknown_name_gets_near_misses(tmp_path, name, hint):
    with pytest.raises(UnknownName) as caught:
        find(root_of(nested(tmp_path)), name)
    assert hint in str(caught.value)


def test_a_component_is_no_system(tmp_path):
    with pytest.raises(EditError, match="'A' is a component, not a system"):
        find_system(root_of(nested(tmp_path)), "A")
