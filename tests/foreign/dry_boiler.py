"""FMUs of pythonfmu (FMI 2.0) and pythonfmu3 (FMI 3.0) whose Python class raises an exception somewhere."""

import subprocess
import sys
from pathlib import Path

WORDS = "the boiler is dry at 3.2 bar"
PLACES = ("constructor", "initialization", "step")
FAILS_AT = 0.5
"""[s] Steps that begin at this time or later fail."""

_CLASS = """
from {package} import {slave}, Fmi{fmi}Causality, Fmi{fmi}Variability, {real}


class Boiler({slave}):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.level = 1.5{time}
        self.register_variable({real}("level", causality=Fmi{fmi}Causality.output))
        {constructor}

    def enter_initialization_mode(self):
        {initialization}

    def do_step(self, current_time, step_size):
        {step}
        self.level = 1.5 - 2.5 * (current_time + step_size)
        return True
"""
_TIME = """
        self.time = 0.0
        self.register_variable(
            Float64("time", causality=Fmi3Causality.independent, variability=Fmi3Variability.continuous)
        )"""


def boiler(fmi: int, place: str, folder: Path) -> Path:
    """The folder with Boiler.fmu, whose class raises ValueError in this place."""
    raising = f'raise ValueError("{WORDS}")'
    places = dict.fromkeys(PLACES, "pass") | {place: raising}
    if place == "step":
        places["step"] = f"if current_time > {FAILS_AT} - 1e-9:\n            {raising}"
    if place == "constructor":  # the builder makes an instance, too
        places["constructor"] = f'if kwargs["instance_name"] != "dummyInstance":\n            {raising}'
    package = {2: "pythonfmu", 3: "pythonfmu3"}[fmi]
    real, time = {2: ("Real", ""), 3: ("Float64", _TIME)}[fmi]
    text = _CLASS.format(package=package, slave=f"Fmi{fmi}Slave", fmi=fmi, real=real, time=time, **places)
    script = folder / "boiler.py"
    script.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", package, "build", "-f", script, "-d", folder]
    subprocess.run(command, check=True, capture_output=True)
    return folder
