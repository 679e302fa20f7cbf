"""Calls of the public API: those that do not fit the signature or the annotations are refused with names.

`public` marks each function and class of the API, so that no call ends in an error of Python alone.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from ssptool.arguments import WrongArgument, plain, unknown_argument
from ssptool.errors import WrongType, WrongUsage, counted, is_own

Public = TypeVar("Public", bound=Callable[..., Any])


def public(called: Public) -> Public:
    """Decorator of a function or class of the public API.

    A call that does not fit the signature is refused with the names of the arguments. If a call ends in an error of
    Python, and an argument is not what its annotation says, the error names that argument. The same holds for the
    methods of a class.
    """
    if not isinstance(called, type):
        checked: Public = _checked(called)
        return checked
    for name, member in list(vars(called).items()):
        if inspect.isfunction(member) and (name == "__init__" or not name.startswith("_")):
            setattr(called, name, _checked(member, bound=True))
    return called


def _checked(function: Any, *, bound: bool = False) -> Any:
    @wraps(function)
    def checked(*given: Any, **options: Any) -> Any:
        try:
            return function(*given, **options)
        except (TypeError, AttributeError, ValueError, LookupError) as error:
            if is_own(error):
                raise
            # Only here, since all public functions are decorated whenever the package is loaded.
            signature = inspect.signature(function)
            name = function.__qualname__.removesuffix(".__init__")
            parameters = list(signature.parameters.values())[bound:]
            try:
                arguments = signature.bind(*given, **options).arguments
            except TypeError:
                raise _misfit(name, parameters, given[bound:], options) from None
            for one in parameters:
                if one.name in arguments:
                    _check(one, arguments[one.name], function, error)
            raise

    return checked


def _misfit(
    function: str, parameters: Sequence[inspect.Parameter], given: Sequence[Any], options: Mapping[str, Any]
) -> WrongUsage:
    """The error of a call that does not fit the signature."""
    by_place = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    others = any(one.kind is one.VAR_KEYWORD for one in parameters)  # checked by the function itself
    for name in options:
        if name not in names and not others:
            return unknown_argument(function, name, names)
    if len(given) > len(by_place):
        listed = f" ({', '.join(by_place)})" if by_place else ""
        taken = f"{counted(len(by_place), 'argument')} without a name{listed}"
        return WrongType(f"{function} takes {taken}, and all others as NAME=VALUE; found {len(given)}")
    if twice := [name for name in by_place[: len(given)] if name in options]:
        return WrongType(f"{function} has the argument {twice[0]} twice: by its place and by its name")
    needed = {one.name for one in parameters if one.default is one.empty} - {*by_place[: len(given)], *options}
    missing = [name for name in names if name in needed]
    return WrongType(f"{function} needs the argument{'s' * (len(missing) > 1)} {' and '.join(missing)}")


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def _check(parameter: inspect.Parameter, value: Any, function: Any, error: Exception) -> None:
    """Raise WrongArgument if the value is not what the annotation says, or a text that no document holds."""
    annotation = parameter.annotation
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, function.__globals__)  # our own source
        except NameError:  # known to type checkers only
            annotation = Any
    if not _fits(value, annotation):
        raise WrongArgument(parameter.name, value, _expected(annotation)) from error
    if isinstance(value, str) and _CONTROL.search(value):
        raise WrongArgument(parameter.name, value, "a text without control characters") from error


def _fits(value: Any, annotation: Any) -> bool:
    """Whether a value is what an annotation says; True of annotations that are not understood."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(annotation))
    if origin is Literal:
        return value in get_args(annotation)
    kind = origin or (NoneType if annotation is None else annotation)
    if kind is inspect.Parameter.empty or kind is Any or not isinstance(kind, type):
        return True
    value = plain(value)
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    if kind is Path:
        return isinstance(value, PathLike)
    if not isinstance(value, kind) or (isinstance(value, str | bytes) and kind not in (str, bytes)):
        return False
    of = get_args(annotation)
    if kind is tuple or not of or not isinstance(value, list | tuple | set | frozenset):
        return True
    return all(_fits(one, of[0]) for one in value)


_WORDS: Mapping[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    bytes: "bytes",
    Path: "a path",
    NoneType: "None",
}


def _expected(annotation: Any) -> str:
    """An annotation in words."""
    origin, of = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_expected, of)))
    if origin is Literal:
        return f"one of {', '.join(map(str, of))}"
    if annotation is None or annotation in _WORDS:
        return _WORDS[NoneType if annotation is None else annotation]
    kind = origin or annotation
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "a mapping"
    if origin is not None and of:
        return f"a list, of which each is {_expected(of[0])}" if len(of) == 1 else "a list"
    return f"a {kind.__name__}"
