"""Layers point one way (stated in the docstring of `ssptool`); heavy libraries load only where they are used."""

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

import ssptool
from ssptool.public_names import PARTS

PACKAGE = Path(ssptool.__file__).parent
LEVELS = [
    [
        "errors",
        "foreign_text",
        "many_values",
        "option_words",
        "printed",
        "public_names",
        "version",
        "work_in_progress",
        "working_directory",
    ],
    ["call_filter", "foreign_output", "guard", "journal", "own_root"],
    ["arguments", "child_processes", "confinement", "sandbox", "tempfiles"],
    ["public_calls"],
    ["documents"],
    ["fmu"],
    ["network"],
    ["rules", "drawing", "editing"],
    ["engine"],
    ["results"],
    ["analysis"],
    ["studies"],
    ["exporting"],
    ["api"],
    ["exceptions", "renderers", "types", "variants"],
    ["language_server", "studio"],
    ["cli"],
    ["__main__"],
]

# Inside the engine too, a sub-package or module imports only those before it.
ENGINE = [
    *["failure", "method_names", "settings", "text", "trace", "time_grid"],
    *["kernel", "watch", "recording", "masters", "stimuli", "planning", "assembly", "ode"],
    *["run", "isolation", "simulate", "stepping"],
]
MODULES_OF_A_RUN = 200


def own_imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import of our own package, wherever it stands in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "ssptool":
                yield node.lineno, module
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names if name.name.split(".")[0] == "ssptool")


def layer(module: str) -> str:
    return [*module.split("."), ""][1]


def level(name: str) -> int:
    return next(number for number, names in enumerate(LEVELS) if name in names)


def test_imports_point_left():
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        importer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if importer == "__init__":
            continue
        for line, module in own_imports(path):
            imported = layer(module)
            if imported == "" and importer == "cli":
                continue  # a shell uses the public API: `import ssptool`
            if imported != importer and level(imported) >= level(importer):
                wrong.append(f"{path.relative_to(PACKAGE)}:{line} imports {module}")
    assert wrong == []


def test_imports_inside_the_engine_point_left():
    """Imports for types and inside functions included."""
    wrong = []
    for path in sorted((PACKAGE / "engine").rglob("*.py")):
        importer = path.relative_to(PACKAGE / "engine").parts[0].removesuffix(".py")
        if importer == "__init__":
            continue
        for line, module in own_imports(path):
            imported = [*module.removeprefix("ssptool.engine.").split("."), ""][0]
            if module.startswith("ssptool.engine.") and ENGINE.index(imported) > ENGINE.index(importer):
                wrong.append(f"{path.relative_to(PACKAGE)}:{line} imports {module}")
    assert wrong == []


def test_no_files_import_each_other_in_a_circle():
    """Imports for types and inside functions included; the public API is made of names, not of files."""
    files = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "__init__.py"
    }
    graph = networkx.DiGraph()
    for name, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names} & files.keys()
                graph.add_edges_from((name, imported) for imported in whole or {node.module} & files.keys())
    circles = [sorted(circle) for circle in networkx.strongly_connected_components(graph) if len(circle) > 1]
    assert circles == []
    assert not list(networkx.selfloop_edges(graph))


def test_every_module_belongs_to_a_layer():
    names = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert names - {"__init__"} <= {name for names in LEVELS for name in names}


def test_importing_the_package_and_its_command_loads_nothing_heavy():
    """The command answers --help at once only if numerics, XML and FMU libraries wait until a command needs them."""
    code = (
        "import sys, typer, ssptool.cli.app as cli; list(typer.main.get_command(cli.app).commands.values()); "
        "print(*sorted({m.split('.')[0] for m in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "lxml", "fmpy", "networkx", "matplotlib"} & set(loaded)


def test_checking_a_system_loads_neither_numerics_nor_the_engine():
    """A small system is checked at once; FMPy, which loads numpy, waits for the first FMU."""
    code = "import sys, ssptool; ssptool.validate; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "fmpy", "networkx", "matplotlib", "ssptool.engine", "ssptool.editing"} & set(loaded)


def test_understanding_a_system_loads_neither_pictures_nor_numerics_of_the_engine():
    """`info`, `explain` and `graph` as text or JSON: what draws is half a second more."""
    code = "import sys, ssptool; ssptool.info, ssptool.explain, ssptool.graph; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    pictures = {"ssptool.drawing.diagram.layout", "ssptool.drawing.diagram.svg", "matplotlib", "plotly"}
    assert not (pictures | {"scipy", "networkx", "ssptool.engine.kernel"}) & set(loaded)


def test_a_check_of_a_system_without_cycles_loads_no_large_library():
    system = Path(__file__).parent.parent / "systems/flyball_governor"
    code = f"import sys, ssptool; ssptool.validate({str(system)!r}); print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"networkx", "numpy", "fmpy", "scipy", "ssptool.engine"} & set(loaded)


def test_a_run_loads_neither_what_edits_nor_what_draws_nor_what_studies():
    """From nothing to the first step a command takes a few tenths of a second, most of them for loading modules."""
    code = "import sys, ssptool; ssptool.simulate, ssptool.Simulation; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    libraries = {"scipy", "networkx", "pandas", "pyarrow", "matplotlib", "dask", "pydantic", "rich", "yaml"}
    layers = {f"ssptool.{layer}" for layer in ("drawing", "editing", "results", "studies", "cli")}
    assert not (libraries | layers | {"ssptool.engine.ode.cvode"}) & set(loaded)


def test_a_plain_run_loads_few_modules_and_libraries():
    """Co-simulation with held inputs, without loops, events and stimuli, in a process of its own."""
    system = Path(__file__).parent.parent / "systems/dual_mass_oscillator"
    code = (
        "import sys, ssptool; from pathlib import Path; "
        "settings = ssptool.Settings(master='jacobi', stop_time=0.1, step_size=0.1); "
        f"result = ssptool.simulate(Path({str(system)!r}), settings=settings, isolated=True); "
        "print(result.status, *sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    status, *loaded = done
    assert status == "completed"
    assert sum(name.startswith("ssptool.") for name in loaded) <= MODULES_OF_A_RUN
    heavy = {"scipy", "pandas", "pyarrow", "matplotlib", "plotly", "dask", "yaml", "jinja2"}
    assert not (heavy | {"ssptool.engine.ode.cvode"}) & set(loaded)


def test_every_public_name_has_one_home():
    every = []
    for file, module in {"__init__": ssptool, **{part: getattr(ssptool, part) for part in PARTS}}.items():
        path = next(one for one in (PACKAGE / f"{file}.pyi", PACKAGE / file / "__init__.pyi") if one.exists())
        stub = ast.parse(path.read_text(encoding="utf-8"))
        imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
        homes = [(alias.name, alias.asname, node.module) for node in imports for alias in node.names]
        assert sorted(name for name, _, _ in homes) == sorted(dir(module))
        assert all(name == public for name, public, _ in homes)
        assert {name for name, _, _ in homes if not hasattr(module, name)} == set()
        every += module.__all__
    assert len(every) == len(set(every))


def test_verbs_come_first_among_the_public_names():
    verbs = [name for name in ssptool.__all__ if name.islower()]
    assert ssptool.__all__[: len(verbs)] == verbs == sorted(verbs)
    assert all(inspect.isfunction(getattr(ssptool, name)) for name in verbs)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("InvalidSystem", "exceptions"),
        ("REPORT_RENDERERS", "renderers"),
        ("Editor", "types"),
        ("Table", "types"),
        ("list_variants", "variants"),
        ("new_study", "studies"),
        ("root_locus", "analysis"),
    ],
)
def test_a_name_of_a_public_module_is_told_with_it(name, part):
    assert name not in dir(ssptool)
    with pytest.raises(AttributeError, match=rf"did you mean ssptool\.{part}\.{name}\?"):
        getattr(ssptool, name)
    assert hasattr(getattr(ssptool, part), name)


def test_tests_take_public_names_from_the_package_itself():
    """So that a module may move without them."""
    found = []
    for folder in ("tests", "benchmarks"):
        for path in sorted((PACKAGE.parent / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ssptool."):
                    found += [f"{path}:{node.lineno}: {one.name}" for one in node.names if _is_public(node.module, one)]
    assert found == []


def _is_public(module: str, name: ast.alias) -> bool:
    """Whether a name that a module has is the public one, and not another thing of that name."""
    if name.name not in ssptool.__all__:
        return False
    return getattr(importlib.import_module(module), name.name, None) is getattr(ssptool, name.name)
