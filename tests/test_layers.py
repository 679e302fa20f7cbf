"""Layers point one way (stated in the docstring of `ssptool`); heavy libraries load only where they are used."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import ssptool

PACKAGE = Path(ssptool.__file__).parent
LEVELS = [
    ["dataclass", "pickling", "scratch", "version", "working_directory", "wrong_usage"],
    ["arguments"],
    ["documents"],
    ["fmu"],
    ["network"],
    ["rules", "drawing", "editing"],
    ["engine"],
    ["results"],
    ["studies"],
    ["api"],
    ["cli"],
    ["__main__"],
]


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


def test_a_run_loads_neither_what_edits_nor_what_draws_nor_what_studies():
    """From nothing to the first step a command takes a few tenths of a second, most of them for loading modules."""
    code = "import sys, ssptool; ssptool.simulate, ssptool.Simulation; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    libraries = {"scipy", "networkx", "pandas", "pyarrow", "matplotlib", "dask", "pydantic", "rich", "yaml"}
    layers = {f"ssptool.{layer}" for layer in ("drawing", "editing", "results", "studies", "cli")}
    assert not (libraries | layers | {"ssptool.engine.ode.cvode", "ssptool.engine.kernel.twin"}) & set(loaded)


def test_a_plain_run_loads_only_what_its_plan_asks_for():
    """Co-simulation with held inputs, without loops, events and stimuli, in a process of its own."""
    system = Path(__file__).parent.parent / "systems/dual_mass_oscillator"
    code = (
        "import sys, ssptool; from pathlib import Path; "
        "settings = ssptool.Settings(master='jacobi', stop_time=0.1, step_size=0.1); "
        f"result = ssptool.simulate(Path({str(system)!r}), settings=settings, isolated=True); "
        "print(result.status, *sorted(name for name in sys.modules if name.startswith('ssptool.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    status, *loaded = done
    families = {
        "event_mode": {"planned"},
        "interface": set(),
        "loops": {"solution"},
        "masters": {"bond", "inputs", "jacobi", "master", "partners", "program"},
        "ode": {"planned_events"},
        "stimuli": {"acting", "boundaries", "course", "findings", "modification", "resolve", "stimuli"},
    }
    modules = {
        family: {m.split(".")[3] for m in loaded if m.startswith(f"ssptool.engine.{family}.")} for family in families
    }
    assert status == "completed"
    assert modules == families
    alone = {"call_sequence", "partial_derivatives", "stepping"}
    assert not {f"ssptool.engine.{name}" for name in (*alone, "recording.csv", "kernel.twin")} & set(loaded)


def test_families_load_what_they_name():
    """Each name of a family of which members are loaded on demand is where the family says it is."""
    for path in sorted((PACKAGE / "engine").glob("*/__init__.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                stated = {alias.name: imported.module for imported in node.body for alias in imported.names}
                family = import_module(f"ssptool.engine.{path.parent.name}")
                assert {name: getattr(family, name) for name in stated} == {
                    name: getattr(import_module(module), name) for name, module in stated.items()
                }


def test_every_public_name_has_one_home():
    homes = [name for names in ssptool._MODULES.values() for name in names]
    assert sorted(homes) == sorted(ssptool.__all__)
