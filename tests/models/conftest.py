"""The FMUs under test, built once, and instances of them that look the same for FMI 2.0 and FMI 3.0."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmpy import extract, fmi2, fmi3, read_model_description

from tests.cmake_build import build

ROOT = Path(__file__).parents[2]
OWN = ("System1", "System2", "System2NoFlange")
WITH_OWN_STEPS = ("NewmarkMass", "SymplecticMass")
WITH_EVENTS = ("BouncingBall", "Pulse", "Comparator", "Relay", "Restless")
FOR_TESTS = ("Stateless", "Stiff", "Spindle", "Lag")
SANITIZE = os.environ.get("SSPTOOL_SANITIZE", "OFF")
"""ON builds the FMUs with sanitizers; Python must then be started with the sanitizer's library preloaded."""


@dataclass(frozen=True)
class Fmus:
    """The files: `fmus["System1", 2]` is the FMI 2.0 FMU of System1."""

    folder: Path

    def __getitem__(self, key: tuple[str, int]) -> Path:
        name, version = key
        kind = "models" if name in OWN + WITH_OWN_STEPS else "test-models"
        return self.folder / kind / f"fmi{version}" / f"{name}.fmu"


@pytest.fixture(scope="session")
def fmus() -> Fmus:
    folder = ROOT / ("build/sanitized" if SANITIZE == "ON" else "build")
    for source, built in (("systems/models", "models"), ("tests/models", "test-models")):
        build(ROOT / source, folder / built, f"SSPTOOL_SANITIZE={SANITIZE}")
    return Fmus(folder)


@dataclass
class Instance:
    """One instance with variables by name, whatever the FMI version."""

    fmu: Any
    version: int
    reference: Mapping[str, int]
    log: list[str] = field(default_factory=list)

    def set(self, values: Mapping[str, float] | None = None, **more: float) -> None:
        values = {**(values or {}), **more}
        setter = self.fmu.setReal if self.version == 2 else self.fmu.setFloat64
        setter([self.reference[name] for name in values], list(values.values()))

    def get(self, *names: str) -> np.ndarray:
        getter = self.fmu.getReal if self.version == 2 else self.fmu.getFloat64
        return np.array(getter([self.reference[name] for name in names]))

    def value(self, name: str) -> float:
        return float(self.get(name)[0])

    def enter(self, start: float = 0.0, stop: float | None = None, **values: float) -> Instance:
        """Sets the values and enters initialization mode."""
        if self.version == 2:
            self.fmu.setupExperiment(startTime=start, stopTime=stop)
        self.set(values)
        if self.version == 2:
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(startTime=start, stopTime=stop)
        return self

    def start(self, start: float = 0.0, stop: float | None = None, **values: float) -> Instance:
        """Initializes; a model-exchange instance ends up in continuous-time mode."""
        self.enter(start, stop, **values).fmu.exitInitializationMode()
        if isinstance(self.fmu, fmi2.FMU2Model | fmi3.FMU3Model):
            self.fmu.enterContinuousTimeMode()
        return self

    def step(self, t: float, h: float) -> None:
        self.fmu.doStep(currentCommunicationPoint=t, communicationStepSize=h)

    def set_derivatives(self, name: str, *derivatives: float) -> None:
        """First, second, ... time derivative of an input (FMI 2.0 only)."""
        orders = range(1, len(derivatives) + 1)
        self.fmu.setRealInputDerivatives([self.reference[name]] * len(derivatives), list(orders), derivatives)

    def output_derivatives(self, *names: str) -> np.ndarray:
        references = [self.reference[name] for name in names]
        ones = [1] * len(names)
        if self.version == 3:
            return np.array(self.fmu.getOutputDerivatives(references, ones))
        return np.array(self.fmu.getRealOutputDerivatives(references, ones))

    def directional_derivative(self, unknowns: Sequence[str], seed: Mapping[str, float]) -> np.ndarray:
        rows = [self.reference[name] for name in unknowns]
        columns = [self.reference[name] for name in seed]
        return np.array(self.fmu.getDirectionalDerivative(rows, columns, list(seed.values())))

    def adjoint_derivative(self, seed: Mapping[str, float], knowns: Sequence[str]) -> np.ndarray:
        rows = [self.reference[name] for name in seed]
        columns = [self.reference[name] for name in knowns]
        return np.array(self.fmu.getAdjointDerivative(rows, columns, list(seed.values()), len(columns)))

    def save(self) -> Any:
        return self.fmu.getFMUState()

    def restore(self, state: Any) -> None:
        self.fmu.setFMUState(state)

    def free(self, state: Any) -> None:
        self.fmu.freeFMUState(state)


class Maker:
    """Makes instances and frees them after the test."""

    def __init__(self, fmus: Fmus, folder: Path) -> None:
        self.fmus = fmus
        self.folder = folder
        self.made: list[Instance] = []
        self.kept: list[object] = []

    def arguments(self, name: str, version: int, interface: str) -> tuple[dict[str, Any], Mapping[str, int]]:
        description = read_model_description(self.fmus[name, version])
        unzipped = self.folder / f"{name}-{version}"
        if not unzipped.exists():
            extract(self.fmus[name, version], str(unzipped))
        chosen = description.modelExchange if interface == "me" else description.coSimulation
        arguments = {
            "guid": description.guid,
            "unzipDirectory": str(unzipped),
            "modelIdentifier": chosen.modelIdentifier,
            "instanceName": f"{name}-{len(self.made)}",
        }
        return arguments, {v.name: v.valueReference for v in description.modelVariables}

    def __call__(self, name: str, version: int, interface: str = "cs", **options: Any) -> Instance:
        arguments, reference = self.arguments(name, version, interface)
        classes = {
            (2, "cs"): fmi2.FMU2Slave,
            (2, "me"): fmi2.FMU2Model,
            (3, "cs"): fmi3.FMU3Slave,
            (3, "me"): fmi3.FMU3Model,
        }
        instance = Instance(classes[version, interface](**arguments), version, reference)

        def log(*message: Any) -> None:
            instance.log.append(message[-1].decode())

        if version == 2:
            callbacks = fmi2.fmi2CallbackFunctions()
            callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(log)
            self.kept.append(callbacks)
            instance.fmu.instantiate(callbacks=callbacks, **options)
        else:
            instance.fmu.instantiate(logMessage=log, **options)
        self.made.append(instance)
        return instance

    def close(self) -> None:
        for instance in self.made:
            instance.fmu.freeInstance()


@pytest.fixture(scope="session")
def unzipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fmus")


@pytest.fixture
def make(fmus: Fmus, unzipped: Path) -> Iterator[Callable[..., Instance]]:
    maker = Maker(fmus, unzipped)
    yield maker
    maker.close()
