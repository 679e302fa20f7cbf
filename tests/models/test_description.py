"""modelDescription.xml says what the equations say."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from fmpy import read_model_description
from fmpy.validation import validate_fmu
from lxml import etree

from tests.models.conftest import FOR_TESTS, OWN

VERSIONS = (2, 3)
MODELS = OWN + FOR_TESTS
RNG = np.random.default_rng(7)


@pytest.fixture(params=[(name, version) for name in MODELS for version in VERSIONS], ids=lambda p: f"{p[0]}-{p[1]}")
def key(request):
    return request.param


def test_fmpy_finds_no_problem(fmus, key):
    assert validate_fmu(str(fmus[key])) == []


FLAGS = {
    2: ["canGetAndSetFMUstate", "canSerializeFMUstate", "providesDirectionalDerivative"],
    3: [
        *("canGetAndSetFMUState", "canSerializeFMUState"),
        *("providesDirectionalDerivatives", "providesAdjointDerivatives"),
    ],
}
CO_SIMULATION_FLAGS = {
    2: ["canHandleVariableCommunicationStepSize", "canInterpolateInputs"],
    3: ["canHandleVariableCommunicationStepSize", "providesIntermediateUpdate"],
}


def test_every_capability_flag_is_stated(fmus, key):
    with zipfile.ZipFile(fmus[key]) as archive:
        root = etree.fromstring(archive.read("modelDescription.xml"))
    exchange, simulation = root.find("ModelExchange"), root.find("CoSimulation")
    for flag in FLAGS[key[1]]:
        assert exchange.get(flag) == simulation.get(flag) == "true"
    for flag in CO_SIMULATION_FLAGS[key[1]]:
        assert simulation.get(flag) == "true"
    assert simulation.get("maxOutputDerivativeOrder") == "1"


def test_every_variable_has_a_unit_with_si_exponents(fmus, key):
    description = read_model_description(fmus[key])
    defined = {unit.name: unit.baseUnit for unit in description.unitDefinitions}
    assert all(defined[variable.unit] is not None for variable in description.modelVariables)


def test_units_of_the_oscillator_have_the_right_exponents(fmus):
    units = {u.name: u.baseUnit for u in read_model_description(fmus["System2", 2]).unitDefinitions}
    exponents = {name: (unit.kg, unit.m, unit.s) for name, unit in units.items()}
    assert exponents["N"] == (1, 1, -2)
    assert exponents["N/m"] == (1, 0, -2)
    assert exponents["N.s/m"] == (1, 0, -1)
    assert exponents["m/s2"] == (0, 1, -2)


def test_default_experiment_of_the_oscillator_is_ten_seconds_in_steps_of_a_millisecond(fmus):
    experiment = read_model_description(fmus["System1", 3]).defaultExperiment
    assert (experiment.startTime, experiment.stopTime, experiment.stepSize) == ("0", "10", "0.001")


def test_both_fmi_versions_describe_the_same_variables(fmus, key):
    def facts(version):
        variables = read_model_description(fmus[key[0], version]).modelVariables
        return [
            (v.name, v.valueReference, v.causality, v.variability, v.initial, v.start, v.unit, v.nominal)
            for v in variables
        ]

    assert facts(2) == facts(3)


def test_the_token_tells_models_apart(fmus):
    tokens = {name: read_model_description(fmus[name, 2]).guid for name in MODELS}
    assert len(set(tokens.values())) == len(MODELS)
    assert tokens == {name: read_model_description(fmus[name, 3]).guid for name in MODELS}


def test_an_fmu_says_nothing_about_when_it_was_built(fmus, key):
    with zipfile.ZipFile(fmus[key]) as archive:
        assert b"generationDateAndTime" not in archive.read("modelDescription.xml")
        assert {entry.date_time[:3] for entry in archive.infolist()} == {(2000, 1, 1)}


def test_force_depends_on_acceleration_only_through_the_flange(fmus):
    def dependencies(name):
        (force,) = read_model_description(fmus[name, 2]).outputs
        return {variable.name for variable in force.dependencies}

    assert dependencies("System2") == {"x1", "v1", "a1", "x2", "v2"}
    assert dependencies("System2NoFlange") == {"x1", "v1", "x2", "v2"}


def test_variants_of_system2_differ_by_the_flange_mass_only(fmus):
    full, without = (read_model_description(fmus[name, 2]) for name in ("System2", "System2NoFlange"))
    assert full.modelName == without.modelName == "System2"
    assert [v.name for v in full.modelVariables] == [v.name for v in without.modelVariables] + ["m_c"]


# Declared against observed. Random values make it practically impossible that an effect vanishes by chance.


def randomize(names) -> dict[str, float]:
    return {name: float(RNG.uniform(0.5, 2)) for name in names}


def declared(unknowns) -> dict[str, dict[str, str]]:
    return {
        u.variable.name: {v.name: kind for v, kind in zip(u.dependencies, u.dependenciesKind, strict=True)}
        for u in unknowns
    }


def names_of(description, *causalities):
    return [v.name for v in description.modelVariables if v.causality in causalities]


def states_of(description):
    return [unknown.variable.derivative.name for unknown in description.derivatives]


class Continuous:
    """Unknowns of a model-exchange instance as functions of its knowns."""

    def __init__(self, make, key, description):
        self.instance = make(*key, "me")
        self.parameters = randomize(names_of(description, "parameter"))
        self.instance.start(**self.parameters)
        self.states = states_of(description)
        self.point = randomize([*names_of(description, "input"), *self.states, "time"])

    def at(self, names, **changes):
        point = {**self.point, **changes}
        self.instance.fmu.setTime(point.pop("time"))
        states = np.array([point.pop(name) for name in self.states])
        if len(states):
            pointer = states.ctypes.data_as(np.ctypeslib.ctypes.POINTER(np.ctypeslib.ctypes.c_double))
            self.instance.fmu.setContinuousStates(pointer, len(states))
        self.instance.set(point)
        return self.instance.get(*names)

    def tune(self, parameter, factor):
        self.instance.fmu.enterEventMode()
        self.instance.set({parameter: self.parameters[parameter] * factor})
        self.instance.fmu.enterContinuousTimeMode()


def test_declared_dependencies_are_the_observed_ones(fmus, make, key):
    description = read_model_description(fmus[key])
    unknowns = declared(description.outputs + description.derivatives)
    model = Continuous(make, key, description)
    reference = model.at(unknowns)
    observed = {name: set() for name in unknowns}
    for known, value in model.point.items():
        changed = model.at(unknowns, **{known: value + 0.25}) != reference
        for name, effect in zip(unknowns, changed, strict=True):
            if effect:
                observed[name].add(known)
    assert {name: set(kinds) for name, kinds in unknowns.items()} == observed


def same(a, b):
    return np.isclose(a, b, rtol=1e-9, atol=1e-9)  # slopes over intervals of 0.25 lose about four digits


def test_declared_kinds_are_the_observed_ones(fmus, make, key):
    """A factor: the slope is the same at every point. A `constant` one: also for other tunable parameters."""
    description = read_model_description(fmus[key])
    tunable = [v.name for v in description.modelVariables if v.variability == "tunable"]
    unknowns = declared(description.outputs + description.derivatives)
    model = Continuous(make, key, description)

    def slopes(known, shift=0.0):
        point = {name: value + shift for name, value in model.point.items()}
        before, after = (model.at(unknowns, **{**point, known: point[known] + step}) for step in (0, 0.25))
        return (after - before) / 0.25

    for known in model.point:
        slope = slopes(known)
        is_factor = same(slope, slopes(known, shift=0.5))
        is_constant = np.array(is_factor)
        for parameter in tunable:
            model.tune(parameter, 1.5)
            is_constant &= same(slope, slopes(known))
            model.tune(parameter, 1)
        for row, kinds in enumerate(unknowns.values()):
            if known in kinds:
                expected = "constant" if is_constant[row] else "tunable" if is_factor[row] else "dependent"
                assert kinds[known] == expected, (list(unknowns)[row], known)


def test_declared_initial_dependencies_are_the_observed_ones(fmus, make, key):
    description = read_model_description(fmus[key])
    unknowns = declared(description.initialUnknowns)
    knowns = [v.name for v in description.modelVariables if v.causality == "input" or v.initial == "exact"]
    instance = make(*key)
    point = randomize(knowns)
    instance.enter(1.0, **point)
    reference = instance.get(*unknowns)
    observed = {name: set() for name in unknowns}
    for known in knowns:
        instance.set({known: point[known] + 0.25})
        changed = ~np.isclose(instance.get(*unknowns), reference, rtol=1e-12, atol=0)  # rounding is no effect
        instance.set({known: point[known]})
        for name, effect in zip(unknowns, changed, strict=True):
            if effect:
                observed[name].add(known)
    for kinds in unknowns.values():
        kinds.pop("time", None)  # time is known but cannot be set here
    assert {name: set(kinds) for name, kinds in unknowns.items()} == observed


def test_initial_dependencies_are_constant_or_dependent(fmus, key):
    """FMI 2.0 and 3.0, dependenciesKind: the other kinds are not for initialization mode."""
    unknowns = declared(read_model_description(fmus[key]).initialUnknowns)
    assert {kind for kinds in unknowns.values() for kind in kinds.values()} <= {"constant", "dependent"}
