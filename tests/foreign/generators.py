"""FMUs that other people's generators make, from packages of the registry: pythonfmu, pythonfmu3, FMUContainer, UniFMU,
FMPy.

pythonfmu and pythonfmu3 put a Python class into an FMU, FMUContainer several FMUs into one, and UniFMU starts a process
of its own, which here lacks the library that it needs. FMPy writes an FMU of C sources without a binary.
"""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from fmpy.template import create_fmu, generate_model_description

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
    "Half": """
        self.u, self.y = 0.0, 0.0
        {register}("u", causality={causality}.input))
        {register}("y", causality={causality}.output))
    """,
    "Plus": """
        self.u = 0.0
        {register}("u", causality={causality}.input))
        {register}("y", causality={causality}.output, getter=lambda: self.u + 1))
    """,
    "Late": """
        self.u, self.y = 0.0, 0.0
        {register}("u", causality={causality}.input))
        {register}("y", causality={causality}.output))
    """,
    "Noisy": """
        self.u, self.y, self.floor, self.calls = 0.0, 0.0, 1e-6, 0
        {register}("u", causality={causality}.input))
        {register}("floor", causality={causality}.parameter, variability={variability}.tunable))
        {register}("y", causality={causality}.output))
    """,
    "Ender": """
        self.y = 0.0
        {register}("y", causality={causality}.output))
    """,
    "Motor": """
        self.speed, self.torque = 0.0, 0.0
        {register}("speed", causality={causality}.input))
        {register}("torque", causality={causality}.output))
    """,
    "Load": """
        self.torque, self.inertia, self.speed, self.now = 0.0, 0.1, 0.0, 0.0
        {register}("torque", causality={causality}.input))
        {register}("inertia", causality={causality}.parameter, variability={variability}.tunable))
        {register}("speed", causality={causality}.output))
    """,
    "Gearbox": """
        self.speed, self.gear, self.load, self.torque = 0.0, 0, 0.0, 0.0
        {register}("speed", causality={causality}.input))
        {register}("load", causality={causality}.input))
        self.register_variable({integer}("gear", causality={causality}.input))
        {register}("torque", causality={causality}.output))
    """,
    "Brake": """
        self.force = 0.0
        {register}("force", causality={causality}.output))
    """,
}
EQUATIONS = {
    "Wave": "self.y = math.sin(time)",
    "Spring": "self.F = -self.k * self.z",
    "Half": "self.y = self.u / 2",
    "Plus": "pass  # y follows u at every instant",
    "Late": "self.y = self.u + (time > 0)  # y follows u at the ends of steps",
    "Noisy": """self.calls += 1  # no variable of the FMU: not part of its state
        self.y = math.sin(time) + self.u / 2 + self.floor * math.sin(12345.678 * self.calls)""",
    "Ender": "self.y = time",
    "Motor": "self.torque = 150 - self.speed",
    "Gearbox": "self.torque = (self.load + self.speed) / max(self.gear, 1)",
    "Brake": "self.force = 100.0",
    "Load": """steady, self.now, before = self.torque / 0.5, time, self.now
        self.speed = steady + (self.speed - steady) * math.exp(-0.5 * (time - before) / self.inertia)""",
}
"""Name → what the class does at the start and at the end of each step."""

_CLASS = """
import math
from {package} import {slave}, {causality}, {variability}, {real}, {integer}


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
        return {goes_on}
"""
_WORDS = {
    2: {"package": "pythonfmu", "slave": "Fmi2Slave", "real": "Real", "integer": "Integer"},
    3: {"package": "pythonfmu3", "slave": "Fmi3Slave", "real": "Float64", "integer": "Int32"},
}


def python_fmu(name: str, fmi: int, folder: Path, *options: str, module: str = "") -> Path:
    """One of `MODELS` as an FMU of pythonfmu (FMI 2) or pythonfmu3 (FMI 3), by a Python module of that name."""
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
        goes_on="self.y < 0.5" if name == "Ender" else "True",
        independent=independent if fmi == 3 else "",
        **words,
    )
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / f"{module or name.lower()}.py"
    script.write_text(text)
    _run(sys.executable, "-m", words["package"], "build", "-f", script, "-d", folder, *options)
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


def of_sources(folder: Path) -> Path:
    """What FMPy writes for FMI 3: y0 = u0 p0 at the end of each step, once it says so; without any binary."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "model.fmu"
    create_fmu(generate_model_description(n_parameters=1, n_inputs=1, n_outputs=1, n_states=1), target)
    with zipfile.ZipFile(target) as made:
        content = {name: made.read(name) for name in made.namelist() if not name.endswith("/")}
    model = content["sources/model.c"].decode()
    before, _, after = model.partition("    UNUSED(lastSuccessfulTime);\n")
    step = "    Model *model = (Model *)instance;\n    model->y0 = model->u0 * model->p0;\n"
    content["sources/model.c"] = f"{before}{step}{after}".encode()
    with zipfile.ZipFile(target, "w") as changed:
        for name, data in content.items():
            changed.writestr(name, data)
    return target


def without_binaries(fmu: Path) -> Path:
    """The same FMU as for a machine that its maker did not think of."""
    target = fmu.with_name(f"{fmu.stem}_bare.fmu")
    with zipfile.ZipFile(fmu) as made, zipfile.ZipFile(target, "w") as bare:
        for name in made.namelist():
            if not name.startswith("binaries/"):
                bare.writestr(name, made.read(name))
    return target


def _run(*command: object, cwd: Path | None = None) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
