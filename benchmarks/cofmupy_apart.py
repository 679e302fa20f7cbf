"""CoFmuPy, which demands versions of libraries that are not ours, in an environment of its own."""

import json
import subprocess
import sys
from pathlib import Path

from ssptool.types import Plan

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / "build/peers/cofmupy"
PATIENCE = 300.0
"""[s] for making the environment, or for a run."""


def step(plan: Plan, system: Path, folder: Path, steps: int, step_size: float) -> float | str:
    """[s] of CPU time for so many steps of a plan whose FMUs are in the system's folder; or why there is none.
    `folder` is for its configuration.
    """
    python = ENVIRONMENT / "bin/python"
    try:
        if not (ENVIRONMENT / "ready").exists():
            _run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT])
            _run([python, "-m", "pip", "install", "--quiet", "cofmupy"])
            (ENVIRONMENT / "ready").touch()
        configuration = folder / "cofmupy.json"
        configuration.write_text(json.dumps(_configuration(plan, system)))
        return float(_run([python, ROOT / "benchmarks/in_cofmupy.py", configuration, str(steps), str(step_size)]))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        told = getattr(error, "stderr", None) or str(error)
        return f"missing: {told.strip().splitlines()[-1]}"


def _run(command: list[object]) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def _configuration(plan: Plan, system: Path) -> dict[str, object]:
    """FMUs, start values and connections as CoFmuPy wants them."""
    fmus = [
        {
            "id": one.name,
            "name": one.name,
            "path": str((system / one.source).resolve()),
            "initialization": {name: float(value) for name, value in one.starts.items()},
        }
        for one in plan.instances
    ]
    connections = []
    for wire in plan.wires:
        source, target = plan.signals[wire.source], plan.signals[wire.destination]
        connections.append(
            {
                "source": {"id": source.component, "variable": source.variable},
                "target": {"id": target.component, "variable": target.variable},
            }
        )
    return {"fmus": fmus, "connections": connections, "cosim_method": "jacobi", "iterative": False}
