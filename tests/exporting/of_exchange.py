"""Exported FMUs of model exchange, in FMPy, call by call."""

from contextlib import contextmanager
from ctypes import c_double
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Model
from fmpy.fmi3 import FMU3Model


class ExchangeInstance:
    """An instance of model exchange of either version of FMI."""

    def __init__(self, model, description):
        self.model, self.modern = model, isinstance(model, FMU3Model)
        self.references = {one.name: one.valueReference for one in description.modelVariables}
        self.size = description.numberOfContinuousStates
        self.indicator_count = description.numberOfEventIndicators

    def start(self, t):
        """Through initialization and the first event to continuous-time mode."""
        if self.modern:
            self.model.enterInitializationMode(startTime=t)
        else:
            self.model.setupExperiment(startTime=t)
            self.model.enterInitializationMode()
        self.model.exitInitializationMode()
        self.iterate()
        self.model.enterContinuousTimeMode()

    def iterate(self):
        """(states changed, next event time or None)"""
        if self.modern:
            _, _, _, changed, defined, time = self.model.updateDiscreteStates()
            return bool(changed), time if defined else None
        info = self.model.newDiscreteStates()
        return bool(info[3]), info[5] if info[4] else None

    def set(self, t, states):
        self.model.setTime(t)
        self.model.setContinuousStates((c_double * len(states))(*states), len(states))

    def _vector(self, get, count):
        found = (c_double * count)()
        get(found, count)
        return list(found)

    def states(self):
        return self._vector(self.model.getContinuousStates, self.size)

    def derivatives(self):
        get = self.model.getContinuousStateDerivatives if self.modern else self.model.getDerivatives
        return self._vector(get, self.size)

    def indicators(self):
        return self._vector(self.model.getEventIndicators, self.indicator_count)

    def directional(self, unknowns, knowns, seed):
        known = [self.references[name] for name in knowns]
        unknown = [self.references[name] for name in unknowns]
        return self.model.getDirectionalDerivative(unknown, known, seed)

    def save(self):
        return self.model.getFMUState()

    def restore(self, state):
        self.model.setFMUState(state)

    def bytes(self, state):
        return self.model.serializeFMUState(state)

    def restore_bytes(self, content):
        state = self.model.deserializeFMUState(content)
        self.model.setFMUState(state)


@contextmanager
def exchange_instance(fmu, folder):
    """An instance of model exchange, not initialized."""
    description = fmpy.read_model_description(str(fmu))
    unpacked = Path(fmpy.extract(str(fmu), unzipdir=str(folder)))
    kind = FMU3Model if description.fmiVersion.startswith("3") else FMU2Model
    model = kind(
        guid=description.guid,
        unzipDirectory=str(unpacked),
        modelIdentifier=description.modelExchange.modelIdentifier,
        instanceName="exported",
    )
    model.instantiate()
    try:
        yield ExchangeInstance(model, description)
    finally:
        model.freeInstance()
