"""One class per name: a word of SSP or FMI means the thing of the standard, derived things have a prefix."""

import ast
import importlib
from collections import defaultdict
from pathlib import Path

import ssptool

PACKAGE = Path(ssptool.__file__).parent
TESTS = Path(__file__).parent


def test_no_public_class_name_is_defined_twice():
    """But for `documents`: each schema of SSP has types of its own, such as the Float64 of a connector (SSC) and that
    of a parameter value (SSV), and `documents` names them as the schemas do.
    """
    homes = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path.relative_to(PACKAGE))
    shared = {name: paths for name, paths in homes.items() if {path.parts[0] for path in paths} != {"documents"}}
    assert {name: list(map(str, paths)) for name, paths in shared.items() if len(paths) > 1} == {}


def test_tests_name_the_public_name_of_what_has_one():
    """What a user would write is what is tested, and a move inside the package changes no test."""
    public = {id(getattr(ssptool, name)): name for name in ssptool.__all__}
    within = []
    for path in [*sorted(TESTS.rglob("*.py")), *sorted(TESTS.with_name("benchmarks").glob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ssptool."):
                module = importlib.import_module(str(node.module))
                names = [alias.name for alias in node.names if id(getattr(module, alias.name, None)) in public]
                within += [f"{path.relative_to(TESTS.parent)}:{node.lineno}: {node.module}.{name}" for name in names]
    assert within == []
