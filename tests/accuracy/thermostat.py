"""A room that a thermostat keeps between two temperatures, made from thermostat.c, and the exact course of both."""

import zipfile
from pathlib import Path

import numpy as np
from fmpy.fmi2 import FMU2Slave

from tests.fmu.building import PLATFORM, build_model

LOW, HIGH, HOT, COLD, START, CONSTANT = 20.0, 22.0, 35.0, 5.0, 18.0, 100.0
SOURCE = Path(__file__).with_name("thermostat.c")
SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"
SSD = "http://ssp-standard.org/SSP1/SystemStructureDescription"


def write_system(folder: Path, *, more: str = "") -> Path:
    """The folder of a system of both FMUs; `more` are further attributes of their co-simulation."""
    resources = folder / "resources"
    resources.mkdir(parents=True)
    _fmu(resources / "Room.fmu", ("-DROOM",), on="input", T="output", more=more)
    _fmu(resources / "Thermostat.fmu", (), on="output", T="input", more=more)
    connectors = {"Room": (("on", "input"), ("T", "output")), "Thermostat": (("on", "output"), ("T", "input"))}
    components = "".join(
        f'<ssd:Component name="{name}" source="resources/{name}.fmu" type="application/x-fmu-sharedlibrary">'
        f"<ssd:Connectors>{''.join(_connector(*one) for one in each)}</ssd:Connectors></ssd:Component>"
        for name, each in connectors.items()
    )
    wires = "".join(
        f'<ssd:Connection startElement="{a}" startConnector="{c}" endElement="{b}" endConnector="{c}"/>'
        for a, b, c in (("Room", "Thermostat", "T"), ("Thermostat", "Room", "on"))
    )
    (folder / "SystemStructure.ssd").write_text(
        f'<ssd:SystemStructureDescription name="heating" version="1.0" xmlns:ssd="{SSD}" xmlns:ssc="{SSC}">'
        f'<ssd:System name="heating"><ssd:Elements>{components}</ssd:Elements>'
        f"<ssd:Connections>{wires}</ssd:Connections></ssd:System></ssd:SystemStructureDescription>"
    )
    return folder


def _connector(name: str, kind: str) -> str:
    form = "<ssc:Boolean/>" if name == "on" else "<ssc:Real/>"
    return f'<ssd:Connector name="{name}" kind="{kind}">{form}</ssd:Connector>'


def _fmu(path: Path, flags: tuple[str, ...], *, on: str, T: str, more: str) -> None:
    library = build_model(path.with_suffix(".so"), SOURCE, FMU2Slave, flags=(*flags, "-lm"))
    variables = [
        ("T", 0, T, f'<Real start="{START}"/>' if T == "input" else "<Real/>"),
        ("on", 0, on, '<Boolean start="true"/>' if on == "input" else "<Boolean/>"),
    ]
    rows = "".join(
        f'<ScalarVariable name="{name}" valueReference="{reference}" causality="{causality}" '
        f'variability="{"discrete" if name == "on" else "continuous"}">{kind}</ScalarVariable>'
        for name, reference, causality, kind in variables
    )
    output = 1 + [one[2] for one in variables].index("output")
    unknown = f'<Unknown index="{output}" dependencies=""/>'
    structure = f"<Outputs>{unknown}</Outputs><InitialUnknowns>{unknown}</InitialUnknowns>"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(
            "modelDescription.xml",
            f'<fmiModelDescription fmiVersion="2.0" modelName="{path.stem}" guid="{{heating}}">'
            f'<CoSimulation modelIdentifier="{path.stem}" {more}/>'
            f"<ModelVariables>{rows}</ModelVariables><ModelStructure>{structure}</ModelStructure></fmiModelDescription>",
        )
        packed.write(library, f"binaries/{PLATFORM[2]}/{path.stem}{library.suffix}")


def switching_times(stop: float) -> np.ndarray:
    t, temperature, on, times = 0.0, START, True, []
    while True:
        end, target = (HOT, HIGH) if on else (COLD, LOW)
        t -= CONSTANT * np.log((target - end) / (temperature - end))
        if t > stop:
            return np.array(times)
        times.append(t)
        temperature, on = target, not on


def temperature(t: np.ndarray) -> np.ndarray:
    times = switching_times(t[-1])
    number = np.searchsorted(times, t, side="right")
    since = np.concatenate([[0.0], times])[number]
    start = np.where(number == 0, START, np.where(number % 2, HIGH, LOW))
    end = np.where(number % 2, COLD, HOT)
    return end + (start - end) * np.exp(-(t - since) / CONSTANT)
