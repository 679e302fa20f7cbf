"""The example systems as other programs can read them, and what those programs make of them.

libcosim and ecos open SSP 1.0. Of elements they read components alone, not systems, and of parameters
the bindings of components alone. Both exchange signals late: an FMU with direct feedthrough delivers at the end of its
step the outputs that belong to the inputs of its start (`exchange="late"` here). CoFMPy reads no SSP, and demands exact
older versions of FMPy and NetworkX.
"""

import ctypes
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from numpy.typing import NDArray

import ssptool
from ssptool import Settings

SYSTEMS = Path(__file__).parents[2] / "systems"
FLAT = {
    "dual_mass_oscillator": 1e-3,
    "flyball_governor": 5e-5,
    "one_dof_oscillator": 1e-3,
    "rotational_spring_mass_damper": 1e-3,
}
"""Systems without systems in them → a step [s] at which this coupling is stable."""
NAME = "values"

where_wheels_are = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="libcosimpy and ecospy have wheels for few platforms",
)
"""There, the dependency group `peers` installs these programs, and that one is missing is a failure."""

_SET = """<ssv:ParameterSet version="1.0" name="{name}"
    xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues">
  <ssv:Parameters>{parameters}</ssv:Parameters>
</ssv:ParameterSet>"""
_PARAMETER = '<ssv:Parameter name="{name}"><ssv:Real value="{value!r}"/></ssv:Parameter>'


def packed(name: str, folder: Path) -> Path:
    """A system as a package."""
    path = folder / f"{name}.ssp"
    ssptool.pack(SYSTEMS / name, path)
    return path


def packed_for_peers(name: str, folder: Path) -> Path:
    """The same, the values in force bound to the components themselves, in the units of their FMUs."""
    copy = copytree(SYSTEMS / name, folder / name)
    values: dict[str, dict[str, float]] = {}
    for signal, assignment in ssptool.flatten(copy).assignments.items():
        values.setdefault(signal.component, {})[signal.variable] = assignment.value
    with ssptool.edit(copy) as system:
        for component, parameters in values.items():
            file = folder / f"{component}.ssv"
            lines = (_PARAMETER.format(name=variable, value=value) for variable, value in parameters.items())
            file.write_text(_SET.format(name=NAME, parameters="".join(lines)))
            system.bind(file, to=component, inline=True)
    path = folder / f"{name}.ssp"
    ssptool.pack(copy, path)
    return path


def late(name: str, steps: int) -> Mapping[str, NDArray[np.float64]]:
    """Every output (steps + 1,) of our own run with the algorithm of these programs."""
    settings = Settings(
        step_size=FLAT[name],
        stop_time=steps * FLAT[name],
        implementation="cs",
        master="jacobi",
        approximation="hold",
        exchange="late",
    )
    trace = ssptool.simulate(SYSTEMS / name, settings=settings).unwrap()
    ports = [
        port
        for component in ssptool.flatten(SYSTEMS / name).components.values()
        for port in component.of_kind("output")
    ]
    return {str(port.signal): trace[str(port.signal)] for port in ports}


def in_libcosim(package: Path, step: float, signals: Sequence[str], steps: int) -> Mapping[str, NDArray[np.float64]]:
    """Values (steps + 1,); the first is nan, because it gives values after steps only."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver

    log_output_level(CosimLogLevel.ERROR)
    execution = CosimExecution.from_ssp_file(str(package), round(step * 1e9))
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer)
    slaves = {slave.name.decode(): slave.index for slave in execution.slave_infos()}
    places = []
    for signal in signals:
        component, variable = signal.split(".", 1)
        described = execution.slave_variables(slaves[component])
        places.append((slaves[component], [v.reference for v in described if v.name.decode() == variable]))
    rows = [[np.nan] * len(signals)]
    for _ in range(steps):
        execution.step(1)
        rows.append([observer.last_real_values(slave, references)[0] for slave, references in places])
    return dict(zip(signals, np.array(rows).T, strict=True))


def in_ecos(
    package: Path,
    step: float,
    signals: Sequence[str],
    steps: int,
    *,
    lone: str = "",
    parameters: str | None = NAME,
) -> Mapping[str, NDArray[np.float64]]:
    """Values (steps + 1,). `lone`: the file is an FMU, which gets this name; `parameters`: the set to begin with."""
    _load_tbb()
    from ecospy import EcosLib, EcosSimulation, EcosSimulationStructure

    EcosLib.set_log_level("warn")
    rows, given = [], {"ssp_path": str(package)}
    if lone:
        given = {"structure": EcosSimulationStructure()}
        given["structure"].add_model(lone, package)
    with EcosSimulation(step, **given) as simulation:
        if not simulation.init(parameter_set=parameters):
            raise RuntimeError(EcosLib.get_last_error())
        for number in range(steps + 1):
            if number:
                simulation.step(1)
            rows.append([simulation.get_real(signal.replace(".", "::", 1)) for signal in signals])
    return dict(zip(signals, np.array(rows).T, strict=True))


def _load_tbb() -> None:
    """ecos needs this library, which its wheel lacks; the wheel of that library puts it where no loader looks."""
    for file in Path(sys.prefix, "lib").glob("libtbb.so.12"):
        ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL)
