"""Our data classes are those of the standard library, but for the time that they take to define."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import cached_property
from typing import Any

import pytest

from ssptool import dataclass as ours

KINDS = {"ours": ours.dataclass, "the standard library's": dataclasses.dataclass}


def define(dataclass: Callable[..., Any]) -> type[Any]:
    @dataclass(frozen=True, slots=True)
    class Signal:
        """With all that a field can have."""

        name: str
        unit: str | None = None
        sizes: list[int] = field(default_factory=list)
        hidden: int = field(init=False)
        unseen: str = field(default="", repr=False)

        def __post_init__(self) -> None:
            if not self.name:
                raise ValueError("a name is needed")
            object.__setattr__(self, "hidden", len(self.name))

    return Signal


@ours.dataclass(frozen=True, slots=True)
class Wire:
    """Can be found by `pickle`."""

    source: str
    destination: str = "u"


@ours.dataclass(frozen=True, slots=True)
class Converted(Wire):
    """A kind of it."""

    factor: float = 1.0


@ours.dataclass(frozen=True)
class Graph:
    """Has a dictionary, for what is found once."""

    names: tuple[str, ...]

    @cached_property
    def size(self) -> int:
        return len(self.names)


@pytest.mark.parametrize("dataclass", KINDS.values(), ids=KINDS)
def test_fields_are_given_by_place_or_name_or_default(dataclass: Callable[..., Any]) -> None:
    kind = define(dataclass)
    one, two = kind("x"), kind("x", sizes=[1], unit="m")
    assert (one.name, one.unit, one.sizes, one.hidden) == ("x", None, [], 1)
    assert (two.name, two.unit, two.sizes, two.hidden) == ("x", "m", [1], 1)
    assert one.sizes is not kind("x").sizes
    assert not hasattr(one, "__dict__")


@pytest.mark.parametrize("dataclass", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    "wrong", [lambda kind: kind(), lambda kind: kind("x", hidden=1), lambda kind: kind(1, 2, 3, 4, 5)]
)
def test_other_arguments_are_refused(dataclass: Callable[..., Any], wrong: Callable[[type], Any]) -> None:
    with pytest.raises(TypeError, match="__init__"):
        wrong(define(dataclass))


@pytest.mark.parametrize("dataclass", KINDS.values(), ids=KINDS)
def test_what_the_class_does_after_the_fields_are_set_is_done(dataclass: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="a name is needed"):
        define(dataclass)("")


@pytest.mark.parametrize("dataclass", KINDS.values(), ids=KINDS)
def test_a_frozen_instance_cannot_be_changed(dataclass: Callable[..., Any]) -> None:
    one = define(dataclass)("x")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        one.name = "y"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name


@pytest.mark.parametrize("dataclass", KINDS.values(), ids=KINDS)
def test_both_describe_themselves_alike(dataclass: Callable[..., Any]) -> None:
    kind = define(dataclass)
    assert repr(kind("x", "m")).endswith("Signal(name='x', unit='m', sizes=[], hidden=1)")
    assert kind.__match_args__ == ("name", "unit", "sizes", "unseen")
    assert kind.__init__.__qualname__.endswith("Signal.__init__")
    assert list(kind.__init__.__annotations__) == ["name", "unit", "sizes", "unseen", "return"]


@pytest.mark.parametrize(
    "wrong",
    [
        field(compare=False),
        field(hash=False),
        field(kw_only=True),
        field(init=False, default=1),
        field(init=False, default_factory=int),
    ],
    ids=["compare", "hash", "kw_only", "default", "factory"],
)
def test_what_would_be_taken_for_something_else_is_refused_where_it_is_defined(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"Wrong\.number: "):
        ours.dataclass(frozen=True)(type("Wrong", (), {"__annotations__": {"number": int}, "number": wrong}))


@pytest.mark.parametrize("dataclass", KINDS.values(), ids=KINDS)
def test_a_field_without_default_after_one_with_it_is_refused(dataclass: Callable[..., Any]) -> None:
    annotations = {"first": int, "second": int}
    with pytest.raises(TypeError, match=r"second.* follows"):
        dataclass(slots=True)(type("Wrong", (), {"__annotations__": annotations, "first": 1}))


def test_equal_are_instances_of_one_class_with_equal_fields() -> None:
    assert Wire("a") == Wire("a", "u") != Wire("b")
    assert Wire("a") != Converted("a")
    assert hash(Wire("a")) == hash(Wire("a", "u"))
    assert len({Wire("a"), Wire("a"), Converted("a")}) == 2
    nan = float("nan")
    assert Converted("a", factor=nan) == Converted("a", factor=nan), "as tuples compare: by identity first"


def test_a_kind_of_a_class_has_its_fields_too() -> None:
    match Converted("a", "b", 2.0):
        case Converted(source, destination, factor):
            assert (source, destination, factor) == ("a", "b", 2.0)


def test_without_eq_an_instance_is_equal_to_itself_only() -> None:
    @ours.dataclass(frozen=True, slots=True, eq=False)
    class Place:
        """Of a thing that there is once."""

        name: str

    one = Place("a")
    assert one == one and one != Place("a") and len({one, Place("a")}) == 2


def test_an_instance_that_can_change_is_no_key() -> None:
    @ours.dataclass(slots=True)
    class Counts:
        """Go up."""

        steps: int = 0

    counts = Counts()
    counts.steps += 1
    assert counts == Counts(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counts)


def test_methods_that_a_class_states_itself_are_kept() -> None:
    @ours.dataclass(frozen=True, slots=True)
    class Named:
        """Is its name."""

        name: str

        def __repr__(self) -> str:
            return self.name

    assert repr(Named("x")) == "x"


def test_the_standard_librarys_functions_take_them() -> None:
    wire = Wire("a")
    assert dataclasses.replace(wire, destination="v") == Wire("a", "v")
    assert dataclasses.asdict(wire) == {"source": "a", "destination": "u"}
    assert [field.name for field in dataclasses.fields(Converted)] == ["source", "destination", "factor"]


@pytest.mark.parametrize("value", [Wire("a"), Converted("a", factor=2.0), Graph(("a", "b"))])
def test_instances_survive_copies_and_pickles(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == copy.copy(value) == copy.deepcopy(value) == value


def test_what_is_found_once_is_kept_beside_the_fields() -> None:
    graph = Graph(("a", "b"))
    assert graph.size == 2
    assert vars(graph) == {"names": ("a", "b"), "size": 2}
