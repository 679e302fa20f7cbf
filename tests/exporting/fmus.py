"""Exported systems, and the importers that run them: FMPy with its own instances, and step by step."""

from contextlib import contextmanager
from pathlib import Path

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave, defaultCallbacks, fmi2CallbackFunctions, fmi2CallbackLoggerTYPE
from fmpy.fmi3 import FMU3Slave

import ssptool

SYSTEMS = Path(__file__).parents[2] / "systems"
RESOURCES = SYSTEMS / "dual_mass_oscillator" / "resources"


def exported(system, folder, **options):
    """The FMU of a system."""
    return ssptool.export(system, folder / f"{Path(system).stem}.fmu", **options).path


def in_fmpy(fmu, step, **options):
    """Outputs at communication points that are `step` [s] apart."""
    return fmpy.simulate_fmu(str(fmu), output_interval=step, **options)


def assert_same_bits(found, run, every=1):
    """All outputs of an importer are those of our own run at the same instants."""
    signals = [name for name in found.dtype.names if name != "time"]
    assert signals
    for name in signals:
        own = run[name][::every]
        assert len(found) == len(own)
        np.testing.assert_array_equal(found[name], own, err_msg=name)


class Messages(list):
    """What an FMU logs: (status, category, text)."""

    def callbacks(self):
        """Those of FMI 2.0."""
        return fmi2CallbackFunctions(
            fmi2CallbackLoggerTYPE(lambda environment, instance, *message: self.log(environment, *message)),
            defaultCallbacks.allocateMemory,
            defaultCallbacks.freeMemory,
        )

    def log(self, environment, status, category, message):
        self.append((status, category.decode(), message.decode()))


def unpack(fmu, folder):
    """The folder with the files of an FMU, unpacked into `folder`; None: `fmu` is such a folder already."""
    return fmu if folder is None else Path(fmpy.extract(str(fmu), unzipdir=str(folder)))


@contextmanager
def instance(fmu, folder, messages=None, *, logging=False):
    """An instance in FMPy, not initialized; `references` are those of its variables by name. It logs to `messages`."""
    description = fmpy.read_model_description(str(fmu))
    slave = (FMU3Slave if description.fmiVersion.startswith("3") else FMU2Slave)(
        guid=description.guid,
        unzipDirectory=str(unpack(fmu, folder)),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="exported",
    )
    slave.references = {one.name: one.valueReference for one in description.modelVariables}
    if isinstance(slave, FMU3Slave):
        slave.instantiate(loggingOn=logging, logMessage=None if messages is None else messages.log)
    else:
        slave.instantiate(loggingOn=logging, callbacks=None if messages is None else messages.callbacks())
    try:
        yield slave
    finally:
        slave.freeInstance()


def initialize(slave, start=0.0, stop=None):
    set_up(slave, start, stop)
    slave.exitInitializationMode()


def set_up(slave, start=0.0, stop=None):
    """Into initialization mode."""
    if isinstance(slave, FMU3Slave):
        slave.enterInitializationMode(startTime=start, stopTime=stop)
    else:
        slave.setupExperiment(startTime=start, stopTime=stop)
        slave.enterInitializationMode()


def real(slave, name):
    get = slave.getFloat64 if isinstance(slave, FMU3Slave) else slave.getReal
    return get([slave.references[name]])[0]


def follows_a_saved_state(slave, steps, saved, count):
    """`steps(first, count)` does steps and says what it finds. What follows the state that is `saved` after so many
    follows it again, in the same instance, and as bytes in one that was reset; returns it.
    """
    steps(0, saved)
    state = slave.getFMUState()
    expected = steps(saved, count)
    slave.setFMUState(state)
    assert steps(saved, count) == expected
    content = slave.serializeFMUState(state)
    slave.reset()
    slave.setFMUState(slave.deserializeFMUState(content))
    assert steps(saved, count) == expected
    return expected


def set_real(slave, name, value):
    put = slave.setFloat64 if isinstance(slave, FMU3Slave) else slave.setReal
    put([slave.references[name]], [value])
