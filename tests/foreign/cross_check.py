"""Assemble FMUs and systems with inputs, options and references for docs/cross_check.py, run it, and write its verdicts
into docs/cross_check.md: `python -m tests.foreign.cross_check FOLDER`.

References are closed forms, or results of other importers, as the README.md beside each says; never our own results.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from numpy.typing import NDArray

import ssptool
from tests.exporting.test_parts_of_openmodelica import exact as of_two_masses
from tests.exporting.test_parts_of_openmodelica import response
from tests.foreign import generators
from tests.foreign.openmodelica import fmus
from tests.systems.claims import mass_spring_damper, one_dof_oscillator, rotational_spring_mass_damper
from tests.systems.exact_dual_mass import DualMass
from tests.systems.exact_linear import states
from tests.systems.peers import in_ecos, in_libcosim, packed_for_peers
from tests.systems.reference_flyball_governor import height

ROOT = Path(__file__).parents[2]
SYSTEMS = ROOT / "systems"
PAGE = ROOT / "docs" / "cross_check.md"
STEP = 1e-4
"""Of FMUs with inputs [s]: other importers hold inputs over it, which has an error well below the tolerance."""

Floats = NDArray[np.float64]
Table = Mapping[str, Floats]


@dataclass(frozen=True)
class Case:
    """A folder with one case or several variants of one system.

    Attributes
    ----------
    place
        Folder in that of all cases.
    make
        Puts the FMU or the system and what belongs to it into a folder.
    origin
        Where FMU and reference come from.
    verdict
        What it should be; one that is not `passed` has its reason in `origin`.
    """

    place: str
    make: Callable[[Path], object]
    origin: str
    verdict: str = "passed"


def write_table(file: Path, table: Table) -> None:
    rows = np.column_stack([np.asarray(one, dtype=float) for one in table.values()])
    np.savetxt(file, rows, "%.17g", delimiter=",", header=",".join(f'"{name}"' for name in table), comments="")


def write_beside(path: Path, reference: Table, inputs: Table | None = None, **options: float) -> None:
    """What belongs to an FMU or a system; the reference has at most 20 000 rows."""
    every = -(-len(reference["time"]) // 20_000)
    write_table(path.with_name(f"{path.stem}_ref.csv"), {name: one[::every] for name, one in reference.items()})
    if inputs:
        write_table(path.with_name(f"{path.stem}_in.csv"), inputs)
    options = {"StartTime": 0.0, "StopTime": float(reference["time"][-1]), **options}
    lines = "".join(f"{name}, {value!r}\n" for name, value in options.items())
    path.with_name(f"{path.stem}_ref.opt").write_text(lines)


# -- other importers ----------------------------------------------------------------------------------------------


def slow_inputs(fmu: Path) -> Table:
    """Each real input swings about its start value, over 1 s; others keep theirs."""
    t = np.linspace(0, 1, 101)
    variables = [
        one
        for one in fmpy.read_model_description(str(fmu)).modelVariables
        if one.causality == "input" and one.type in ("Real", "Float64")
    ]
    swings = {one.name: float(one.start or 0) + 0.05 * np.sin(t + place) for place, one in enumerate(variables)}
    return {"time": t, **swings} if swings else {}


def by_fmpy(fmu: Path, interface: str) -> None:
    """Inputs, options and the reference of FMPy, with the outputs that are real."""
    inputs = slow_inputs(fmu)
    given = np.rec.fromarrays(list(inputs.values()), names=[*inputs]) if inputs else None
    exchange = interface == "me"
    found = fmpy.simulate_fmu(
        str(fmu),
        fmi_type="ModelExchange" if exchange else "CoSimulation",
        stop_time=1.0,
        step_size=None if exchange else STEP,
        output_interval=STEP,
        relative_tolerance=1e-10 if exchange else None,
        input=given,
        record_events=False,
    )
    options = {"StepSize": STEP, **({"RelTol": 1e-8} if exchange else {})}
    write_beside(fmu, dict(_real(found)), inputs, **options)


def _real(found: NDArray[np.void]) -> Iterator[tuple[str, Floats]]:
    """Columns of real numbers, an array by its elements."""
    for name in found.dtype.names or ():
        if found[name].dtype == np.float64 and found[name].ndim == 1:
            yield name, found[name]
        elif found[name].dtype == np.float64:
            yield from ((f"{name}[{k + 1}]", column) for k, column in enumerate(found[name].T))


def of_examples() -> Iterator[Case]:
    """The FMUs of the example systems, each by each of its interfaces."""
    for file in sorted(SYSTEMS.glob("*/resources/**/*.fmu")):
        described = fmpy.read_model_description(str(file))
        offered = {"cs": described.coSimulation, "me": described.modelExchange}
        *_, system, _, within = file.parent.parts if file.parent.name != "resources" else (*file.parent.parts, "")
        for interface in (name for name, there in offered.items() if there is not None):
            kept = within if within == "no_flange" else ""
            place = Path(f"fmi{described.fmiVersion[0]}", interface, system, kept, file.stem)

            def make(folder: Path, file: Path = file, interface: str = interface) -> None:
                by_fmpy(Path(shutil.copy(file, folder)), interface)

            origin = f"Example system. Reference: FMPy {fmpy.__version__}."
            yield Case(place.as_posix(), make, origin)


def by_peer(run: Callable[..., Table], name: str, step: float, steps: int) -> Callable[[Path], None]:
    """An example system as a package, with the outputs that another importer of SSP computes."""

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as place:
            package = Path(shutil.copy(packed_for_peers(name, Path(place)), folder))
        signals = [
            str(port.signal) for one in ssptool.flatten(package).components.values() for port in one.of_kind("output")
        ]
        found = {"time": np.arange(steps + 1) * step, **run(package, step, signals, steps)}
        write_beside(package, {name: values[1:] for name, values in found.items()}, StepSize=1e-3)

    return make


# -- systems with closed forms ------------------------------------------------------------------------------------


def variants(name: str, references: Mapping[str, tuple[Table, dict[str, float]]]) -> Callable[[Path], None]:
    """An example system with the reference and the options of each variant."""

    left_out = shutil.ignore_patterns("README.md", "Newmark.ssd")  # a time scheme of its own, not the exact motion

    def make(folder: Path) -> None:
        shutil.copytree(SYSTEMS / name, folder, dirs_exist_ok=True, ignore=left_out)
        for variant, (reference, options) in references.items():
            write_beside(folder / f"{variant}.ssd", reference, **options)

    return make


def dual_mass() -> Callable[[Path], None]:
    t = np.linspace(0, 10, 1001)
    exact = DualMass().signals(t)
    reference = {"time": t, **{f"System1.{name}": exact[name] for name in ("x1", "v1", "a1")}, "System2.F": exact["F"]}
    coarse = {"StepSize": 1e-3}
    names = ("FMI3", "Mixed", "NoFlange", "SystemStructure")
    fine = {"FMI1": (reference, {"StepSize": 5e-4})}
    return variants("dual_mass_oscillator", {**dict.fromkeys(names, (reference, coarse)), **fine})


def one_dof() -> Callable[[Path], None]:
    t = np.linspace(0, 1, 1001)

    def reference(damped: bool) -> Table:
        z, v = one_dof_oscillator.exact(t, damped)
        return {"time": t, "Mass.z": z, "Mass.v": v}

    names = {"SystemStructure": False, "Damped": True, "Symplectic": False}
    return variants(
        "one_dof_oscillator", {name: (reference(damped), {"StepSize": STEP}) for name, damped in names.items()}
    )


def mass_spring() -> Callable[[Path], None]:
    t = np.linspace(0, 5, 1001)
    single = {f"{name}.mass.s": mass_spring_damper.exact(t, d) for name, d in (("first", 4.0), ("second", 52.0))}
    both = dict(zip(("first.mass.s", "second.mass.s"), mass_spring_damper.exact_chain(t).T, strict=True))
    named = {"SystemStructure": single, "Chain": both}
    return variants(
        "mass_spring_damper", {name: ({"time": t, **one}, {"StepSize": 1e-3}) for name, one in named.items()}
    )


def rotational() -> Callable[[Path], None]:
    t = np.linspace(0, 10, 1001)
    names = "inertia1.phi", "inertia1.w", "inertia2.phi", "inertia2.w"
    found = states(rotational_spring_mass_damper.MATRIX, rotational_spring_mass_damper.START, t)
    reference = {"time": t, **dict(zip(names, found.T, strict=True))}
    return variants("rotational_spring_mass_damper", {"SystemStructure": (reference, {"StepSize": 1e-3})})


def flyball() -> Callable[[Path], None]:
    t = np.linspace(0, 10, 1001)
    reference = {"time": t, "Slider.s": height(t)}
    whole = {name: (reference, {"RelTol": 1e-8, "StepSize": 0.01}) for name in ("SystemStructure", "CutAtCoupler")}
    at_spindle = {"time": t, "Linkage.s": reference["Slider.s"]}
    return variants("flyball_governor", {**whole, "CutAtSpindle": (at_spindle, {"RelTol": 1e-8, "StepSize": 0.01})})


# -- FMUs of other tools ------------------------------------------------------------------------------------------


def closed(
    make: Callable[[Path], Path],
    outputs: Callable[[Floats], Table],
    stop: float = 1.0,
    inputs: Mapping[str, float] | None = None,
    **options: float,
) -> Callable[[Path], None]:
    """An FMU with the closed forms of its outputs; `inputs` are constant."""

    def put(folder: Path) -> None:
        made = make(folder)
        t = np.linspace(0, stop, 1001)
        given = {name: np.array([value, value]) for name, value in (inputs or {}).items()}
        table = {"time": np.array([0, stop]), **given} if given else None
        write_beside(made, {"time": t, **outputs(t)}, table, **(options or {"StepSize": 1e-3}))

    return put


def of_python() -> Iterator[Case]:
    for fmi, tool in ((2, "pythonfmu"), (3, "pythonfmu3")):
        origin = f"{tool}. Reference: closed form."

        def wave(folder: Path, fmi: int = fmi) -> Path:
            return cleaned(generators.python_fmu("Wave", fmi, folder))

        def half(folder: Path, fmi: int = fmi) -> Path:
            return cleaned(generators.python_fmu("Half", fmi, folder))

        def container(folder: Path, fmi: int = fmi) -> Path:
            return cleaned(generators.container(fmi, folder, 1e-3))

        yield Case(f"fmi{fmi}/cs/{tool}/Wave", closed(wave, lambda t: {"y": np.sin(t)}), origin)
        constant = closed(half, lambda t: {"y": np.full_like(t, 0.35)}, inputs={"u": 0.7})
        yield Case(f"fmi{fmi}/cs/{tool}/Half", constant, origin)
        rows = closed(container, lambda t: {"y": 3 - 3 * (1 + t) * np.exp(-t)}, inputs={"u": 3.0})
        origin = "Two FMUs in one, by FMUContainer. Reference: closed form."
        yield Case(f"fmi{fmi}/cs/fmu-manipulation-toolbox/Container", rows, origin)


def cleaned(fmu: Path) -> Path:
    """What generators leave beside an FMU is removed."""
    for other in fmu.parent.iterdir():
        if other != fmu:
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    return fmu


def of_openmodelica() -> Iterator[Case]:
    form = "OpenModelica. Reference: closed form."
    fmpys = f"OpenModelica. Reference: FMPy {fmpy.__version__}."
    exchange = {"RelTol": 1e-8, "StepSize": 0.01}

    def masses(t: Floats) -> Table:
        return dict(zip(("x1", "x2"), of_two_masses(t), strict=True))

    def copied(name: str) -> Callable[[Path], Path]:
        return lambda folder: Path(shutil.copy(fmus() / f"{name}.fmu", folder))

    for name, outputs in (
        ("MassSpringSystem", masses),
        ("ramp", lambda t: {"out": np.minimum(t, 1)}),
        ("add", lambda t: {"y": np.full_like(t, 5.5)}),
    ):
        inputs = {"u1": 2.0, "u2": 3.5} if name == "add" else {}
        for interface in ("cs", "me"):
            options = exchange if interface == "me" else {"StepSize": STEP}
            made = closed(copied(name), outputs, 2.0, inputs, **options)
            yield Case(f"fmi2/{interface}/OpenModelica/{name}", made, form)

    def pushed(folder: Path) -> None:
        made = copied("Mass_Damper")(folder)
        t = np.linspace(0, 2, 4001)
        inputs = {"time": np.array([0.0, 1, 2]), "f": np.array([0.0, 1, 1])}
        write_beside(made, {"time": t, "y": response(t) - 0.5}, inputs, **{**exchange, "StepSize": 5e-4})

    yield Case("fmi2/me/OpenModelica/Mass_Damper", pushed, form)
    for name in ("MassSpringSubSystem1", "MassSpringSubSystem2"):
        for interface in ("cs", "me"):

            def make(folder: Path, name: str = name, interface: str = interface) -> None:
                by_fmpy(copied(name)(folder), interface)

            yield Case(f"fmi2/{interface}/OpenModelica/{name}", make, fmpys)
    of_three = (
        "Made by PythonFMU3, from the package gemseo-fmu; its output `vector` is an array. " + fmpys.split(". ")[1]
    )
    yield Case("fmi3/cs/pythonfmu3/FMU3Model", lambda folder: by_fmpy(copied("FMU3Model")(folder), "cs"), of_three)


def without_backend(folder: Path) -> None:
    generators.without_backend(folder).with_name("Waiting_ref.opt").write_text("StopTime, 1\n")


def of_others() -> Iterator[Case]:
    def exported(fmi: int) -> Callable[[Path], None]:
        """The dual-mass oscillator as one FMU, in a system."""

        def make(folder: Path) -> None:
            with tempfile.TemporaryDirectory() as place:
                fmu = Path(place) / "Oscillator.fmu"
                ssptool.export(SYSTEMS / "dual_mass_oscillator", fmu, fmi=fmi)
                with ssptool.new(folder / "Exported.ssp", fmu):
                    pass
            t = np.linspace(0, 10, 1001)
            exact = DualMass().signals(t)
            names = {"System1.x1": "x1", "System1.v1": "v1"}
            found = {f"Oscillator.{name}": exact[one] for name, one in names.items()}
            write_beside(folder / "Exported.ssp", {"time": t, **found}, StepSize=1e-3)

        return make

    for fmi in (2, 3):
        origin = f"`ssptool export --fmi {fmi}` of an example system, used in a system. Reference: closed form."
        yield Case(f"systems/exported_fmi{fmi}", exported(fmi), origin)
    sources = closed(generators.of_sources, lambda t: {"y0": np.zeros_like(t)})
    origin = "FMPy's template: C sources and no library (`--compile` compiles them)."
    yield Case("fmi3/cs/FMPy/model", sources, origin, "not for this platform")
    waiting = "UniFMU: its backend lacks a Python package here, and its library waits for it without end."
    yield Case("fmi2/cs/unifmu/Waiting", without_backend, waiting, "failed")


def catalogue() -> Iterator[Case]:
    exact = "Example system. Reference: closed form"
    yield Case("systems/dual_mass_oscillator", dual_mass(), f"{exact} (matrix exponential).")
    yield Case("systems/one_dof_oscillator", one_dof(), f"{exact}.")
    yield Case("systems/mass_spring_damper", mass_spring(), f"{exact}.")
    yield Case("systems/rotational_spring_mass_damper", rotational(), f"{exact} (matrix exponential).")
    radau = "Example system. Reference: equations of motion, integrated by SciPy (Radau)."
    yield Case("systems/me/flyball_governor", flyball(), radau)
    peers = "Example system. Reference:"
    name = "rotational_spring_mass_damper"
    yield Case("systems/cs/in_libcosim", by_peer(in_libcosim, name, 2.5e-5, 20_000), f"{peers} libcosim (libcosimpy).")
    yield Case("systems/cs/in_ecos", by_peer(in_ecos, name, 2.5e-5, 20_000), f"{peers} ecos (ecospy).")
    yield from of_examples()
    yield from of_python()
    yield from of_openmodelica()
    yield from of_others()


def assemble(folder: Path, cases: list[Case]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for case in cases:
        place = folder / case.place
        place.mkdir(parents=True)
        case.make(place)
        (place / "README.md").write_text(f"{case.origin}\n", encoding="utf-8")


# -- verdicts -----------------------------------------------------------------------------------------------------


def check(cases: Path, output: Path) -> list[dict[str, Any]]:
    """Run docs/cross_check.py on a folder; the cases as it writes them."""
    command = [sys.executable, ROOT / "docs" / "cross_check.py", cases, "--output", output, "--timeout", "20"]
    subprocess.run([str(word) for word in command], check=False)
    found: list[dict[str, Any]] = json.loads((output / "verdicts.json").read_text(encoding="utf-8"))["cases"]
    return found


def case_of(name: str, cases: Sequence[Case]) -> Case:
    return next(case for case in cases if f"{name}/".startswith(f"{case.place}/"))


def short(name: str) -> str:
    """The name of a case; that of its folder, if the FMU is called so."""
    path = Path(name)
    return path.parent.as_posix() if (path.suffix, path.stem) == (".fmu", path.parent.name) else name


def summary(found: Sequence[Mapping[str, Any]], cases: Sequence[Case]) -> str:
    """Counts and verdicts as Markdown, without the times of this machine."""
    counts = Counter(one["verdict"] for one in found)
    headings = ("case", "FMI", "verdict", "worst signal: deviation (allowed)", "FMU and reference")
    interfaces = {"co-simulation": " CS", "model exchange": " ME", "": ""}
    rows = [headings, ("---",) * len(headings)]
    for one in found:
        worst = one["signals"][0] if one["signals"] else None
        deviation = f"{worst['signal']}: {worst['deviation']:.1g} ({worst['half_width']:.1g})" if worst else ""
        fmi = f"{one['fmi']}{interfaces[one['interface']]}"
        rows.append((short(one["name"]), fmi, one["verdict"], deviation, case_of(one["name"], cases).origin))
    told = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
    return "\n".join([f"{len(found)} cases: {told}.", "", *(f"| {' | '.join(row)} |" for row in rows)])


def main(folder: Path) -> int:
    """Assemble, run, write the page; 1 if a verdict is another one than its case says."""
    cases = list(catalogue())
    assemble(folder / "cases", cases)
    found = check(folder / "cases", folder / "verdicts")
    text = PAGE.read_text(encoding="utf-8")
    made = re.sub(r"\d+ cases: .*\n\n(?:\|.*\n)+", lambda _: f"{summary(found, cases)}\n", text)
    PAGE.write_text(made, encoding="utf-8")
    wrong = [one["name"] for one in found if one["verdict"] != case_of(one["name"], cases).verdict]
    print(f"{len(found)} cases, {len(wrong)} with another verdict than expected", *wrong, sep="\n  ")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
