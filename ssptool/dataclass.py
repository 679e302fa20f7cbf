"""Data classes as `dataclasses.dataclass` makes them, at a sixth of the price where they are defined.

For a frozen class the standard library compiles six methods; a short command defines more than a hundred such classes,
and spent a third of its time there. Here the constructor is compiled once for all classes with as many fields and gets
the names of these, comparison is compiled where a class is first compared, and the other methods are shared. What comes
out is a data class to `fields`, `replace`, `asdict`, `match`, `copy` and `pickle`.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field
from functools import cache, partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
        return partial(_made, frozen=frozen, slots=slots, eq=eq)


def _made(kind: type, frozen: bool, slots: bool, eq: bool) -> type:
    stated = set(vars(kind))  # is kept
    if kind.__doc__ is None:
        # Else the standard library writes the constructor's signature here, which takes longer than to make it.
        kind.__doc__ = kind.__name__
    made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(kind)
    fields = dataclasses.fields(made)
    _check(kind, fields)
    methods: dict[str, Any] = {"__init__": _constructor(made, fields, slots), "__repr__": _repr}
    if eq:
        methods |= _comparison(made, stated, frozen)
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in stated:
            setattr(made, name, method)
    return made


def _check(kind: type, fields: Sequence[Field[Any]]) -> None:
    """Raise `TypeError` for fields that the methods made here would take for others."""
    optional = ""
    for field in fields:
        name = f"{kind.__qualname__}.{field.name}"
        required = field.default is MISSING and field.default_factory is MISSING
        if field.kw_only or not field.compare or field.hash is not None:
            raise TypeError(f"{name}: for compare, hash or kw_only of a field use dataclasses.dataclass")
        if not field.init and not required:
            raise TypeError(f"{name}: with init=False nothing sets the default; set it in __post_init__")
        if field.init and required and optional:
            raise TypeError(f"{name} has no default and follows {optional}, which has one")
        if not required:
            optional = field.name


def _constructor(kind: type, fields: Sequence[Field[Any]], slots: bool) -> FunctionType:
    """What is compiled for as many fields, with the names and defaults of these."""
    given = [field for field in fields if field.init]
    fresh = tuple(field.default_factory is not MISSING for field in given)
    code = _compiled_constructor(fresh, slots, hasattr(kind, "__post_init__")).replace(
        co_varnames=("self", *(field.name for field in given)),
        co_qualname=f"{kind.__qualname__}.__init__",  # errors name it
    )
    optional = (field for field in given if field.default is not MISSING or field.default_factory is not MISSING)
    defaults = tuple(field.default for field in optional)  # of those that are made: MISSING, too
    constructor = FunctionType(code, _names(kind, given), "__init__", defaults)
    constructor.__annotations__ = {**{field.name: field.type for field in given}, "return": None}
    return constructor


def _names(kind: type, given: Sequence[Field[Any]]) -> dict[str, Any]:
    """What a constructor refers to."""
    names: dict[str, Any] = {"__name__": kind.__module__, "_set": object.__setattr__, "_unset": MISSING}
    for place, field in enumerate(given):
        # That of a slot goes past the refusal of a frozen class, and needs no look-up.
        names[f"_set_{place}"] = getattr(getattr(kind, field.name, None), "__set__", None)
        names[f"_name_{place}"], names[f"_make_{place}"] = field.name, field.default_factory
    return names


@cache
def _compiled_constructor(fresh: tuple[bool, ...], slots: bool, more: bool) -> CodeType:
    """For fields of which these are made afresh if they are not given; `more` is to be done when they are set."""
    body = [_assignment(place, made, slots) for place, made in enumerate(fresh)]
    if more:
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *(f"_{place}" for place in range(len(fresh)))])
    text = f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]) + "\n"
    code: CodeType = _compiled(text, {})["__init__"].__code__
    return code


def _assignment(place: int, made: bool, slots: bool) -> str:
    value = f"_make_{place}() if _{place} is _unset else _{place}" if made else f"_{place}"
    return f"_set_{place}(self, {value})" if slots else f"_set(self, _name_{place}, {value})"


def _comparison(kind: type, stated: set[str], frozen: bool) -> dict[str, Any]:
    """Methods that are replaced by compiled ones when the first of them is called."""

    def compiled(name: str) -> Callable[..., Any]:
        methods = _compiled(_comparing(dataclasses.fields(kind)), {})
        for own in {"__eq__", "__hash__"} - stated if frozen else {"__eq__"} - stated:
            setattr(kind, own, methods[own])
        found: Callable[..., Any] = methods[name]
        return found

    def __eq__(self: Any, other: Any) -> Any:
        return compiled("__eq__")(self, other)

    def __hash__(self: Any) -> Any:
        return compiled("__hash__")(self)

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _comparing(fields: Sequence[Field[Any]]) -> str:
    """Equal are instances of one class whose fields are."""
    mine, theirs = ("".join(f"{whose}.{field.name}, " for field in fields) for whose in ("self", "other"))
    return (
        "def __eq__(self, other):\n"
        f" return ({mine}) == ({theirs}) if other.__class__ is self.__class__ else NotImplemented\n"
        f"def __hash__(self):\n return hash(({mine}))\n"
    )


def _compiled(text: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(text, names)
    return names


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(_described(self))})"


def _described(instance: Any) -> Iterator[str]:
    for field in dataclasses.fields(instance):
        if field.repr:
            yield f"{field.name}={getattr(instance, field.name)!r}"


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _set_state(self: Any, state: Any) -> None:
    """What `pickle` and `copy` have taken of an instance: its dictionary, or that and its slots."""
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            object.__setattr__(self, name, value)
