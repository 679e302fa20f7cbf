"""Steps chosen by energy residuals of power bonds, on systems whose FMUs are said not to save their states."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from typer.testing import CliRunner

import ssptool
from ssptool import Settings
from ssptool.cli.app import app
from ssptool.engine.masters.power_bonds import bonds_of_terminals, declared_bonds
from ssptool.engine.run.make_plan import make_plan
from ssptool.exceptions import ContradictingSettings
from ssptool.fmu.terminals import Terminal, TerminalMember, read_terminals
from ssptool.network.network import Conversion, Signal
from tests.engine.dual_mass import FMI2, FMI3, RESOURCES, WIRES, Folder, component, oscillator, simulate
from tests.engine.masters.test_adaptive import error, without
from tests.engine.running import run
from tests.engine.systems import write_system
from tests.systems.exact_dual_mass import DualMass

BOND = ("System1.v1", "System2.F")
NAME = ",".join(BOND)
ROTATIONAL = RESOURCES.parents[1] / "rotational_spring_mass_damper"
HELD = {"saves_state": False, "input_derivatives": False, "intermediate_update": False}


def forgetful(sources=FMI2, hold=False):
    """FMUs that cannot save states, as those that tools export often cannot."""
    net = oscillator(sources)
    for name in net.components:
        net = without(net, name, **(HELD if hold else {"saves_state": False}))
    return net


def energies(tmp_path, net, **settings):
    """The result; per step the energy through the bond and its residual [J], and the measure of the log."""
    log = tmp_path / "energy.jsonl"
    result = simulate(net, power_bonds=(BOND,), log_coupling=log, **settings)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    rows = [[line["values"][NAME], line["residuals"][NAME], line["measure"]] for line in lines]
    return result, *np.array(rows).T


# -- the residual -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hold", "order"), [(True, 2), (False, 3)])
@pytest.mark.parametrize("sources", [FMI2, FMI3])
def test_the_residual_of_a_step_has_the_order_of_its_inputs_and_one_more(tmp_path, sources, hold, order):
    """h² where they are held, h³ where they are extrapolated (Sadjina et al. 2017, §3): the size of the step is held to
    a constant by a tolerance that allows everything. Third step on, when there is a past.
    """
    sizes, residuals = (0.02, 0.01, 0.005), []
    for size in sizes:
        result = simulate_fixed(tmp_path, forgetful(sources, hold), size)
        residuals.append(np.abs(result).sum() / len(result))
    assert np.diff(np.log(residuals)) / np.diff(np.log(sizes)) == approx([order] * 2, abs=0.25)


def simulate_fixed(tmp_path, net, size, bond=BOND, folder=RESOURCES):
    """Residuals of steps of one size, from the fourth on: the master with factors of 1 alone."""
    plan = make_plan(net, Settings(adaptive=1e-2, power_bonds=(bond,), step_size=size, stop_time=1.0))
    control = plan.master.base
    fixed = control.controller._replace(least_factor=1.0, largest_factor=1.0)
    master = replace(plan.master, base=replace(control, controller=fixed))
    log = tmp_path / f"{size}.jsonl"
    plan = replace(plan, master=master, settings=replace(plan.settings, log_coupling=log))
    assert run(plan, Folder(folder)).ok
    return np.array([json.loads(line)["residuals"][",".join(bond)] for line in log.read_text().splitlines()[3:]])


@pytest.mark.parametrize(("hold", "order"), [(True, 2), (False, 3)])
def test_residuals_of_the_rotational_system_have_these_orders_too(tmp_path, hold, order):
    """Of its damper 1, N.m times rad/s; steps below the 0.05 s at which held springs become unstable."""
    net = ssptool.plan(ROTATIONAL, settings=Settings(stop_time=1.0, implementation="cs")).network
    for name in net.components:
        net = without(net, name, **(HELD if hold else {"saves_state": False}))
        simulated = replace(net.components[name], implementation="CoSimulation")
        net = replace(net, components=net.components | {name: simulated})
    sizes = (0.01, 0.005, 0.0025)
    residuals = [simulate_fixed(tmp_path, net, size, ("inertia1.w", "damper1.tau_a"), ROTATIONAL) for size in sizes]
    means = [np.abs(one).mean() for one in residuals]
    assert np.diff(np.log(means)) / np.diff(np.log(sizes)) == approx([order] * 2, abs=0.25)


def test_the_residual_is_the_energy_that_held_inputs_create(tmp_path):
    """P1 − P2 = v1 F(t) − F v1(t), s after t, with F as the second component has it: of held x1 and v1. Over a step
    that leaves h²/2 (F v1' − v1 F'), along the exact solution, with F' = dF/dt + k2 v1 + c2 a1. 2 % of the largest one
    are what 500 steps of first order leave.
    """
    size = 2e-3
    residuals = simulate_fixed(tmp_path, forgetful(hold=True), size)
    exact = DualMass()
    now = exact.signals(np.arange(3.5, 500) * size)
    slope = np.gradient(now["F"], size) + 10.0 * now["v1"] + 0.5 * now["a1"]
    expected = size**2 / 2 * (now["F"] * now["a1"] - now["v1"] * slope)
    assert np.abs(residuals) == approx(np.abs(expected), abs=0.02 * np.abs(expected).max())


# -- the control ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hold", "tolerances"), [(True, (1e-1, 3e-2, 1e-2)), (False, (1e-1, 1e-2, 1e-3))])
def test_energy_from_nowhere_stays_below_the_tolerance_times_what_goes_through(tmp_path, hold, tolerances):
    """1.5: no step is taken back, so that one that turns out too large stays."""
    for tolerance in tolerances:
        result, through, residual, _ = energies(tmp_path, forgetful(hold=hold), adaptive=tolerance, stop_time=20.0)
        assert result.unwrap().t[-1] == 20.0
        assert np.abs(residual).sum() <= 1.5 * tolerance * through.sum()


def test_errors_of_signals_follow_the_tolerance(tmp_path):
    """Inputs of order p: residuals per time ~ h^p ~ tolerance, and so is the error of the run."""
    errors = [
        error(simulate(forgetful(), adaptive=tolerance, power_bonds=(BOND,), stop_time=10.0))
        for tolerance in (1e-1, 1e-2, 1e-3)
    ]
    assert np.diff(np.log10(errors)) == approx([-1, -1], abs=0.35)


@pytest.mark.parametrize(("hold", "gain"), [(True, 1.3), (False, 1.8)])
def test_as_many_steps_of_one_size_are_less_exact(hold, gain):
    """Over 20 s, in which the oscillation dies away, with the same approximation of inputs: 1.5 and 2.2 times."""
    tolerance, same = 1e-2, {"approximation": "hold" if hold else "extrapolate", "stop_time": 20.0}
    adaptive = simulate(forgetful(hold=hold), adaptive=tolerance, power_bonds=(BOND,), **same)
    fixed = simulate(forgetful(hold=hold), step_size=20.0 / adaptive.statistics.steps, **same)
    assert error(fixed) >= gain * error(adaptive)


def test_the_controller_settles_where_the_error_is_what_is_allowed(tmp_path):
    """Between steps the measure stays around safety^(1/0.3) = 0.48 of what is allowed: see Gustafsson et al. 1988."""
    _, _, _, measure = energies(tmp_path, forgetful(hold=True), adaptive=1e-2, stop_time=5.0)
    assert np.median(measure) == approx(0.8 ** (1 / 0.3), rel=0.05)
    assert np.quantile(measure[50:], 0.95) < 1.0


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_masters_and_kernels_run_with_it(master):
    result = simulate(forgetful(), adaptive=1e-2, power_bonds=(BOND,), stop_time=2.0, master=master)
    assert error(result) <= 1e-2
    assert result.statistics.rejected == 0


def test_a_bond_counts_the_same_in_either_direction():
    one, other = (
        simulate(forgetful(), adaptive=1e-2, power_bonds=(bond,), stop_time=2.0).unwrap() for bond in (BOND, BOND[::-1])
    )
    assert one.t == approx(other.t, rel=1e-9)


# -- bonds ----------------------------------------------------------------------------------------------------------


def with_conversion(net, source, conversion):
    wires = tuple(w._replace(conversion=conversion) if str(w.source) == source else w for w in net.wires)
    return replace(net, wires=wires)


@pytest.mark.parametrize(
    ("bond", "message"),
    [
        (("System1.x1", "System2.F"), r"System1.x1 \[m\] and System1.F \[N\] is not a power; its unit must be W"),
        (("System1.v", "System2.F"), "'System1.v' is not a connected output; connected outputs are System1.v1"),
        (("System1.v1", "System1.a1"), "not connected to System1|outputs of one component"),
        (("System1.v1", "System1.v1"), "not connected to System1|outputs of one component"),
    ],
)
def test_what_is_no_power_bond_is_refused_with_the_reason(bond, message):
    with pytest.raises(ContradictingSettings, match=message):
        declared_bonds(oscillator(), [bond])


def in_units(net, name, **units):
    """Variables of a component in other units: by name a unit, its factor, and a nominal value in it."""
    one = net.components[name]
    variables, known = dict(one.description.variables), dict(one.description.units)
    for variable, (unit, factor, nominal) in units.items():
        known[unit] = known[variables[variable].unit]._replace(name=unit, factor=factor)
        variables[variable] = variables[variable]._replace(unit=unit, nominal=nominal)
    changed = replace(one, description=replace(one.description, variables=variables, units=known))
    return replace(net, components=net.components | {name: changed})


def test_powers_of_both_sides_are_in_watts_whatever_their_units():
    """One side has mm/s and daN, whose product is 10 mW, the other kN and cm/s, whose product is 10 W."""
    net = in_units(oscillator(), "System1", v1=("mm/s", 1e-3, 40.0), F=("daN", 10.0, 0.5))
    net = in_units(net, "System2", v1=("cm/s", 1e-2, 1.0), F=("kN", 1e3, 1.0))
    net = with_conversion(net, "System1.v1", Conversion(factor=0.1))
    net = with_conversion(net, "System2.F", Conversion(factor=100.0))
    (bond,) = declared_bonds(net, [BOND])
    v, f = 30.0, 0.2  # mm/s and kN
    assert bond.first_factor * v * bond.first_scale * f == approx(6.0)
    assert bond.second_factor * f * bond.second_scale * v == approx(6.0)
    assert bond.nominal == approx(40e-3 * 5.0)


def test_a_transformation_that_changes_the_power_makes_no_bond():
    with pytest.raises(ContradictingSettings, match="receives 3 times the power"):
        declared_bonds(with_conversion(oscillator(), "System1.v1", Conversion(factor=3.0)), [BOND])
    with pytest.raises(ContradictingSettings, match="a factor only"):
        declared_bonds(with_conversion(oscillator(), "System1.v1", Conversion(offset=3.0)), [BOND])


def test_a_reaction_with_the_opposite_sign_is_the_same_bond():
    (bond,) = declared_bonds(with_conversion(oscillator(), "System2.F", Conversion(factor=-1.0)), [BOND])
    assert bond.first_factor * bond.first_scale == bond.second_factor * bond.second_scale


def test_terminals_tell_of_the_bonds_whose_products_are_powers():
    """Members v1 and F of both: velocity and force. x1 and F are joules, and a1 and F nothing that is known."""
    members = tuple(TerminalMember(name, name, "signal") for name in ("x1", "v1", "a1", "F"))
    flange = {"flange": Terminal("flange", "bus", "translational", members)}
    (bond,) = bonds_of_terminals(oscillator(), {"System1": flange, "System2": flange})
    assert str(bond) == NAME
    assert bonds_of_terminals(oscillator(), {"System1": flange}) == ()
    apart = {name: Terminal(name, "bus", "", (TerminalMember(name, name, "signal"),)) for name in ("v1", "F")}
    assert bonds_of_terminals(oscillator(), {"System1": apart, "System2": flange}) == ()


def test_terminals_of_the_rotational_system_make_bonds_of_its_dampers():
    """Torque and angular velocity; springs exchange an angle, and the product with that is an energy."""
    network = ssptool.plan(ROTATIONAL, settings=Settings(stop_time=1.0)).network
    terminals = {name: read_terminals(ROTATIONAL / one.source) for name, one in network.components.items()}
    found = {str(bond) for bond in bonds_of_terminals(network, terminals)}
    assert found == {"damper1.tau_a,inertia1.w", "damper1.tau_b,inertia2.w", "damper2.tau_a,inertia2.w"}


# -- what is chosen ---------------------------------------------------------------------------------------------


def test_where_all_fmus_save_states_steps_are_doubled_and_bonds_are_not_needed():
    plan = make_plan(oscillator(), Settings(adaptive=1e-3, power_bonds=(BOND,)))
    choice = next(one for one in plan.choices if one.setting == "adaptive")
    assert "errors of all steps" in choice.value and "not needed" in choice.reason


def test_without_bonds_steps_are_chosen_by_the_errors_of_inputs():
    plan = make_plan(forgetful(), Settings(adaptive=1e-3))
    choice = next(one for one in plan.choices if one.setting == "adaptive")
    assert choice.value == "errors of inputs at most 0.001"
    assert choice.reason == "System1 cannot save its state"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "add --adaptive"),
        ({"adaptive": 1e-2, "substeps": {"System2": 2}}, "System2 is .* several steps"),
        ({"adaptive": 2.0}, "between 0 and 1"),
    ],
)
def test_bonds_that_have_no_use_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_plan(forgetful(), Settings(power_bonds=(BOND,), **settings))


def test_the_iterated_master_leaves_no_residual_to_choose_steps_by():
    """A third component, which listens only, is the one that cannot save its state."""
    net = oscillator()
    listener = component("Listener", "System2.fmu")
    wires = tuple(
        wire._replace(destination=Signal("Listener", wire.destination.variable))
        for wire in net.wires
        if wire.destination.component == "System2"
    )
    net = replace(net, components=net.components | {"Listener": listener}, wires=net.wires + wires)
    net = without(net, "Listener", saves_state=False)
    with pytest.raises(ContradictingSettings, match="use master jacobi or gauss-seidel"):
        make_plan(net, Settings(adaptive=1e-2, power_bonds=(BOND,), master="iterated"))
    plan = make_plan(net, Settings(adaptive=1e-2, power_bonds=(BOND,)))
    assert plan.master.name == "jacobi, steps by energy residuals"


@pytest.mark.parametrize("bond", ["System1.v1", ("System1.v1",), ("a", "b", "c")])
def test_a_bond_is_a_pair(bond):
    with pytest.raises(ValueError, match="pairs of names"):
        Settings(power_bonds=(bond,))


@pytest.fixture
def on_disk(tmp_path):
    return write_forgetful(tmp_path)


def write_forgetful(folder):
    """The oscillator as a package whose FMUs say that they do not save states."""
    fmus = folder / "fmus"
    fmus.mkdir()
    for name in ("System1.fmu", "System2.fmu"):
        with zipfile.ZipFile(RESOURCES / name) as old, zipfile.ZipFile(fmus / name, "w") as new:
            for entry in old.infolist():
                content = old.read(entry)
                if entry.filename == "modelDescription.xml":
                    content = content.replace(b'canGetAndSetFMUstate="true"', b'canGetAndSetFMUstate="false"')
                    content = content.replace(b'canSerializeFMUstate="true"', b'canSerializeFMUstate="false"')
                new.writestr(entry, content)
    return write_system(folder / "system", fmus, {"System1": "System1", "System2": "System2"}, WIRES)


def test_fmus_of_fmi1_take_adaptive_steps_by_units_of_the_system():
    """Of units FMI 1.0 knows the name only; the SSD defines them. Twice as exact as as many steps of one size."""
    system = RESOURCES.parent

    def result(**settings):
        settings = Settings(stop_time=20.0, **settings)
        return ssptool.simulate(system, variant="DualMassOscillatorFMI1", settings=settings)

    adaptive = result(adaptive=1e-2, power_bonds=(BOND,))
    fixed = result(step_size=20.0 / adaptive.statistics.steps)
    assert error(fixed) >= 1.8 * error(adaptive)


@pytest.mark.parametrize("jump", [0.30005])
def test_steps_end_at_jumps_and_start_anew(on_disk, tmp_path, jump):
    scenario = tmp_path / "push.yaml"
    scenario.write_text(
        f"events:\n  - time: {jump}\n    model: System1\n    variable: F\n    action: bias\n    value: 2.0\n"
    )
    settings = Settings(adaptive=1e-2, power_bonds=(BOND,), stop_time=1.0, step_size=1e-3)
    trace = ssptool.simulate(on_disk, settings=settings, scenario=scenario).unwrap()
    assert np.count_nonzero(trace.t == jump) == 2 and trace.t[-1] == 1.0
    before, after = np.flatnonzero(trace.t == jump)
    assert trace["System1.a1"][after] - trace["System1.a1"][before] == approx(2.0, abs=1e-9)


def test_the_command_takes_bonds(on_disk, tmp_path):
    settings = ["--implementation", "cs", "--adaptive", "1e-2", "--stop-time", "2", "--step-size", "0.001"]
    output = ["--output", str(tmp_path / "result.csv")]
    done = CliRunner().invoke(app, ["run", str(on_disk), *settings, "--power-bonds", NAME, *output, "-v"])
    assert done.exit_code == 0, done.output
    assert NAME in done.output.replace("\n", "")
    without_bonds = CliRunner().invoke(app, ["run", str(on_disk), *settings, *output])
    assert without_bonds.exit_code == 0, without_bonds.output
    wrong = CliRunner().invoke(app, ["run", str(on_disk), "--power-bonds", "System1.v1"])
    assert wrong.exit_code == 2 and "A.v,B.F" in wrong.output
