"""Hand-written stubs of the extension modules against what the modules themselves say.

Stubs made by nanobind would say `object` where these say which value of ours is taken, and nothing of modules that
use the C interface of Python; so they are written by hand, and checked here.
"""

import ast
import importlib
from pathlib import Path

import pytest

import ssptool

PACKAGE = Path(ssptool.__file__).parent
NANOBIND = ("engine/kernel/_kernel", "fmu/_messages", "fmu/processes/_proxy")
PLAIN = ("engine/watch/_watch", "engine/recording/_text")
CERTAIN = {"int", "float", "bool", "str", "bytes", "None", "list[int]"}
"""Types that nanobind states as they are."""

Parameters = list[tuple[str, str, bool]]  # name, type, whether it has a default


def module(path: str):
    return pytest.importorskip("ssptool." + path.replace("/", "."))


def written(path: str) -> ast.Module:
    return ast.parse((PACKAGE / f"{path}.pyi").read_text(encoding="utf-8"))


def generated(path: str) -> ast.Module:
    stubgen = importlib.import_module("nanobind.stubgen")
    maker = stubgen.StubGen(module(path), quiet=True)
    maker.put(maker.module)
    return ast.parse(maker.get())


def functions(stub: ast.Module) -> dict[str, ast.FunctionDef]:
    """Those of the module and of its classes, by name."""
    found = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    for one in stub.body:
        if isinstance(one, ast.ClassDef):
            found |= {f"{one.name}.{node.name}": node for node in one.body if isinstance(node, ast.FunctionDef)}
    return found


def attributes(stub: ast.Module) -> set[str]:
    """Of classes: what a stub states so, nanobind has as properties."""
    classes = [node for node in stub.body if isinstance(node, ast.ClassDef)]
    every = [(one.name, node) for one in classes for node in one.body if isinstance(node, ast.AnnAssign)]
    return {f"{name}.{ast.unparse(node.target)}" for name, node in every}


def takes_nothing(name: str, function: ast.FunctionDef) -> bool:
    """A constructor that need not be stated."""
    return name.endswith(".__init__") and len(parameters(function)) == 1


def names(stub: ast.Module) -> set[str]:
    """What the module has: classes, functions, values."""
    found = {node.name for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return found | {ast.unparse(node.target) for node in stub.body if isinstance(node, ast.AnnAssign)}


def parameters(function: ast.FunctionDef) -> Parameters:
    every = [*function.args.posonlyargs, *function.args.args]
    optional = len(function.args.defaults)
    return [
        (one.arg, ast.unparse(one.annotation) if one.annotation else "", place >= len(every) - optional)
        for place, one in enumerate(every)
    ]


@pytest.mark.parametrize("path", NANOBIND)
def test_functions_are_those_of_the_module_and_take_what_it_says(path):
    own, made = functions(written(path)), functions(generated(path))
    implied = attributes(written(path)) | {name for name in made.keys() - own.keys() if takes_nothing(name, made[name])}
    assert own.keys() == made.keys() - implied
    for name, function in made.items():
        if name in implied:
            continue
        stated = parameters(own[name])
        assert len(stated) == len(parameters(function)), name
        for (one, kind, default), (other, other_kind, other_default) in zip(stated, parameters(function), strict=True):
            assert one == other or other.startswith("arg"), name
            assert default == other_default, f"{name}({one})"
            assert kind == other_kind or other_kind not in CERTAIN, f"{name}({one})"
        returned = ast.unparse(function.returns) if function.returns else ""
        assert returned not in CERTAIN or returned == ast.unparse(own[name].returns), name


@pytest.mark.parametrize("path", (*NANOBIND, *PLAIN))
def test_names_are_those_of_the_module(path):
    assert names(written(path)) == {name for name in dir(module(path)) if not name.startswith("__")}
