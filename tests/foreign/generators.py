"""FMUs that other people's generators make, from packages of the registry: pythonfmu, pythonfmu3, FMUContainer, UniFMU.

pythonfmu and pythonfmu3 put a Python class into an FMU, FMUContainer several FMUs into one, and UniFMU starts a process
of its own, which here lacks the library that it needs.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.fmus.build import build

MODELS = {
    "Wave": """
        self.y = 0.0
        {register}("y", causality={causality}.output))
    """,
    "Spring": """
        self.z, self.k, self.F = 0.0, 69.48, 0.0
        {register}("z", causality={causality}.input))
        {register}("k", causality={causality}.parameter, variability={variability}.tunable))
        {register}("F", causality={causality}.output))
    """,
}
EQUATIONS = {"Wave": "self.y = math.sin(time)", "Spring": "self.F = -self.k * self.z"}
"""Name → what the class does at the start and at the end of each step."""

_CLASS = """
import math
from {package} import {slave}, {causality}, {variability}, {real}


class {name}({slave}):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
{independent}{variables}

    def evaluate(self, time):
        {equation}

    def exit_initialization_mode(self):
        self.evaluate(0.0)

    def do_step(self, current_time, step_size):
        self.evaluate(current_time + step_size)
        return True
"""
_WORDS = {
    2: {"package": "pythonfmu", "slave": "Fmi2Slave", "real": "Real"},
    3: {"package": "pythonfmu3", "slave": "Fmi3Slave", "real": "Float64"},
}


def python_fmu(name: str, fmi: int, folder: Path) -> Path:
    """`Wave` or `Spring` as an FMU of pythonfmu (FMI 2) or pythonfmu3 (FMI 3)."""
    words = {**_WORDS[fmi], "causality": f"Fmi{fmi}Causality", "variability": f"Fmi{fmi}Variability"}
    words["register"] = f"self.register_variable({words['real']}"
    variables = "\n".join(f"        {line.strip()}" for line in MODELS[name].format(**words).strip().splitlines())
    independent = (
        "        self.time = 0.0\n        self.register_variable("
        'Float64("time", causality=Fmi3Causality.independent, variability=Fmi3Variability.continuous))\n'
    )
    text = _CLASS.format(
        name=name,
        variables=variables,
        equation=EQUATIONS[name],
        independent=independent if fmi == 3 else "",
        **words,
    )
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / f"{name.lower()}.py"
    script.write_text(text)
    _run(sys.executable, "-m", words["package"], "build", "-f", script, "-d", folder)
    return folder / f"{name}.fmu"


def lag(fmi: int, folder: Path, name: str = "Lag") -> Path:
    """One of ours: der(y) = u - y, y(0) = 0, exact for inputs that are held."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(build() / f"fmi{fmi}" / "Misbehaving.fmu", folder / f"{name}.fmu"))


def container(fmi: int, folder: Path, step: float) -> Path:
    """Two lags in a row, `u` to `y`, in one FMU that FMUContainer makes and steps by itself."""
    for name in ("First", "Second"):
        lag(2, folder, name)
    content = {
        "name": "Container.fmu",
        "step_size": step,
        "auto_link": False,
        "auto_input": False,
        "auto_output": False,
        "fmu": ["First.fmu", "Second.fmu"],
        "input": [["u", "First.fmu", "u"]],
        "link": [["First.fmu", "y", "Second.fmu", "u"]],
        "output": [["Second.fmu", "y", "y"]],
        "start": [],
    }
    (folder / "container.json").write_text(json.dumps(content))
    tool = Path(sys.executable).with_name("fmucontainer")
    _run(tool, "-fmi", fmi, "-fmu-directory", folder, "-container", "container.json", cwd=folder)
    return folder / "Container.fmu"


def without_backend(folder: Path) -> Path:
    """An FMU of UniFMU whose backend cannot start, for which its library waits without end."""
    folder.mkdir(parents=True, exist_ok=True)
    _run(Path(sys.executable).with_name("unifmu"), "generate", "python", folder / "Waiting.fmu")
    return folder / "Waiting.fmu"


def _run(*command: object, cwd: Path | None = None) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
