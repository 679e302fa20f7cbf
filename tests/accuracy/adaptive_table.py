"""Write the table of adaptive runs in docs/accuracy.md: true errors, those asked for, and the work."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import ssptool
from tests.accuracy.measured import true_error, written
from tests.accuracy.systems import SYSTEMS, System, oscillator, summed, thermostat

BEGIN, END = "<!-- table of adaptive steps: make verify -->", "<!-- end of the table of adaptive steps -->"
TOLERANCES = (1e-3, 1e-4)
SECONDS = 10
"""Limit of a run [s]."""
HEAD = (
    "| system | states | "
    + " | ".join(f"true error with {one:g} | steps, taken back" for one in TOLERANCES)
    + " | MasterSim, 1e-4 |\n|---|---|---|---|---|---|---|\n"
)
RATE = 2 * np.pi * 100


def able(system: System, **can: object) -> System:
    """The same, with other abilities of the FMUs that are co-simulated."""
    parts = {name: part.able(**can) if part.co_simulation else part for name, part in system.parts.items()}
    return replace(system, parts=parts)


EXACT = [
    "oscillator that holds",
    "oscillator that follows",
    "damped oscillator that holds",
    "damped oscillator that follows",
    "mass that discards",
    "driven at resonance",
    "slow source",
    "slow source of model exchange",
    "soft thermal link",
    "thermal link of 100 W/K",
    "thermal link of 100 W/K that follows",
    "a day",
    "thermostat of co-simulation",
    "relay",
    "sampled by time events",
    "sampled by steps",
    "steps of 0.1 s",
    "predators",
    "predators that follow",
    "relaxation",
    "growth",
    "contact of 1e4 N/m",
    "contact of 1e4 N/m that follows",
    "loop of gain -0.5",
    "hidden loop",
    "chain of gains",
    "resonator of 1 ns",
    "late strike",
    "late strike that steps of three sizes notice at once",
    "late strike at a communication point, but for rounding",
    "late strike that a ramp sets off",
    "small oscillation about 1e6",
]

MASTERSIM = {
    "thermostat": (able(thermostat(), saves=True), 6.7e-6),
    "mass and spring": (able(oscillator(), saves=True), 2.4e-3),
    "source of 100 Hz": (
        able(
            summed(f"7 * sin({RATE!r} * time)", lambda t: 7 * (1 - np.cos(RATE * t)) / RATE, stop=0.2),
            saves=True,
        ),
        5.5e-3,
    ),
    "inputs that are held": (able(SYSTEMS["predators"], saves=True), 4.7e-2),
}
"""Systems like those of which errors with step doubling at 1e-4 are known."""


def main(page: Path) -> None:
    rows = [_row(name, system, "saved", f"{known:.1e}") for name, (system, known) in MASTERSIM.items()]
    for name, system in SYSTEMS.items():
        if any(part.co_simulation for part in system.parts.values()) and "adaptive" not in system.settings:
            rows += [_row(name, able(system, saves=True), "saved"), _row(name, able(system, saves=False), "not saved")]
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{HEAD}{''.join(rows)}{END}{after}", encoding="utf-8")


def _row(name: str, system: System, states: str, known: str = "") -> str:
    cells = [name, states]
    with tempfile.TemporaryDirectory() as folder:
        path = written(system, Path(folder))
        for tolerance in TOLERANCES:
            options = {**system.settings, "adaptive": tolerance, "accuracy": "off", "timeout": SECONDS}
            result = ssptool.simulate(path, output=None, **options)
            done = result.statistics
            error = _size(true_error(system, result)[0]) if result.ok else f"none after {done.seconds:.0f} s"
            cells += [error, f"{done.steps}, {done.rejected}"]
    row = f"| {' | '.join([*cells, known])} |\n"
    print(row, end="", flush=True)
    return row


def _size(error: float) -> str:
    return "0" if error < 1e-12 else f"{error:.1e}".replace("e-0", "e-").replace("e+0", "e")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
