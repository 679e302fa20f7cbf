"""Damaged plans of real exports: a message, or an FMU that works; never a crash or a hang."""

import json
import subprocess
import sys
from pathlib import Path

import fmpy
import pytest

from tests.engine import carriers
from tests.engine.event_mode import systems as hybrid
from tests.engine.systems import write_system
from tests.exporting import (
    damaged_plans,
    test_binaries,
    test_event_mode,
    test_events_beside_exchange,
    test_parameters,
    test_tables,
    test_types,
)
from tests.exporting.fmus import SYSTEMS, exported
from tests.exporting.test_exchange_beside_simulation import mixed

pytestmark = pytest.mark.one_in(5)

ROOT = Path(__file__).parents[2]
COUNT = 60
"""Faults of each system; all take some seconds."""
OSCILLATOR = SYSTEMS / "dual_mass_oscillator"
STEP = {"step_size": 0.01, "stop_time": 0.1}


def _iterated(models, folder):
    return exported(OSCILLATOR, folder, master="iterated", expose=["*"], substeps={"System1": 2}, **STEP)


def _of_fmi1(models, folder):
    return exported(
        OSCILLATOR, folder, fmi=3, variant="FMI1", master="gauss-seidel", approximation="interpolate", **STEP
    )


def _with_tables(models, folder):
    components = {"Mass": "Mass", "Spring": "SpringDamper", "A": "Affine", "B": "Affine"}
    system = write_system(folder / "system", models, components, test_tables.WIRES)
    return exported(system, folder, inputs=test_tables.INPUTS, **test_tables.COMMON)


def _with_parameters(models, folder):
    given = "".join(test_parameters.SET.format(name, value) for name, value in test_parameters.VALUES)
    parts = dict.fromkeys("ABCD", "fmi3/Ratio")
    system = hybrid.write_system(
        folder / "system", models.parent, parts, test_parameters.CHAIN, given, test_parameters.KINDS
    )
    return exported(system, folder, fmi=3, expose=["*"], step_size=0.25)


def _with_events(models, folder):
    components, connections, values = test_event_mode.SYSTEMS["chain of clocks"]
    system = hybrid.write_system(folder / "system", models.parent, components, connections)
    return exported(system, folder, fmi=3, expose=["*"], start_values=values, step_size=0.1, stop_time=1.0)


def _beside_exchange(models, folder):
    of = test_events_beside_exchange
    components, exchange, connections, _ = of.SYSTEMS["a chain of clocks"]
    system = hybrid.write_system(folder / "system", models.parent / "fmi3", components, connections)
    return exported(mixed(system, *exchange), folder, fmi=3, **of.options_of("a chain of clocks"))


def _of_exchange(models, folder):
    return exported(OSCILLATOR, folder, interface="both", expose=["*"], **STEP)


def _of_stiff_exchange(models, folder):
    return exported(OSCILLATOR, folder, fmi=3, interface="both", integrator="rosenbrock", **STEP)


def _with_bytes(models, folder):
    connectors = "".join(
        f'<ssd:Connector name="{name}" kind="{kind}"><ssc:Binary mime-type="{test_binaries.MIME}"/></ssd:Connector>'
        for name, kind in (("in", "input"), ("out", "output"))
    )
    wires = [(".in", "A.in"), ("A.out", "B.in"), ("B.out", ".out")]
    parts = dict.fromkeys("AB", "fmi3/Message")
    system = hybrid.write_system(folder / "system", models.parent, parts, wires, connectors=connectors)
    return exported(system, folder, fmi=3, expose=["*"], step_size=0.25)


def _with_every_type(models, folder):
    (folder / "fmus").mkdir()
    carriers.build(folder / "fmus")
    system = test_types.write_carried(folder / "system", folder / "fmus", 3, carriers.TYPES[3])
    return exported(system, folder, fmi=3, step_size=0.1)


MAKE = {
    "iterated": _iterated,
    "parts of FMI 1.0": _of_fmi1,
    "tables": _with_tables,
    "parameters": _with_parameters,
    "events": _with_events,
    "beside exchange": _beside_exchange,
    "exchange": _of_exchange,
    "stiff exchange": _of_stiff_exchange,
    "bytes": _with_bytes,
    "every type": _with_every_type,
}


@pytest.mark.parametrize("name", MAKE)
def test_a_damaged_plan_gets_a_message_or_works(name, models, tmp_path):
    folder = unpacked(MAKE[name](models, tmp_path), tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "tests.exporting.damaged_plans", str(folder), "1", str(COUNT)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    said = done.stdout.splitlines()
    assert done.returncode == 0 and said[-1] == "done", "\n".join([*said[-3:], done.stderr[-3000:]])


WHERE = [
    (("wires", 0, "to"), 1000, "wires[0].to is 1000, must be an integer from 0 to "),
    (("wires", 0, "from"), -1, "wires[0].from is -1, must be an integer from 0 to "),
    (("types",), [], "types has 0 values, must have "),
    (("step",), "INF", 'step is "INF", must be finite'),
    (("first_point", 0, 0), {"loop": 0}, "first_point[0][0] is an object, must be a call"),
    (("stepping", "everything"), 99, "stepping.everything is 99, must be an integer from 0 to "),
    (("stepping", "iterations", 0, "group"), 2**40, f"stepping.iterations[0].group is {2**40}, must be "),
    (("parts", 0, "folder"), "parts/../..", 'parts[0].folder is "parts/../..", must be '),
    (("parts", 0, "identifier"), "../../0/System1", "must be the name of a library"),
    (("parts", 1, "substeps"), {"count": 0}, "parts[1].substeps.count is 0, must be an integer from 1 to "),
    (("parts", 0, "starts"), {}, "parts[0].starts is an object, must be an array"),
    (
        ("parts", 0, "outputs", "references", 0),
        2**32,
        f"outputs.references[0] is {2**32}, must be an integer from 0 to ",
    ),
]


@pytest.mark.parametrize(("place", "value", "message"), WHERE, ids=lambda value: _name(value))
def test_what_is_damaged_is_named_before_any_library_is_loaded(place, value, message, tmp_path):
    assert message in refusal(unpacked(_iterated(None, tmp_path), tmp_path), place, value)


@pytest.mark.parametrize(
    "inside", [(), ("stepping",), ("parts", 0), ("parts", 0, "inputs"), ("wires", 0), ("loops", 0)]
)
def test_all_that_is_always_there_must_be_there(inside, tmp_path):
    """Nothing else takes the place of what is missing."""
    folder = unpacked(_iterated(None, tmp_path), tmp_path)
    for name in list(_at(json.loads((folder / "resources" / "plan.json").read_text(encoding="utf-8")), inside)):
        if name not in OPTIONAL:
            place = ".".join(map(str, inside)).replace(".0", "[0]") or "the whole"
            assert f"{place} has no {name}" in refusal(folder, (*inside, name), None, remove=True)


OPTIONAL = {"factor", "offset", "substeps"}


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("beside exchange", ("ode", "events"), "ode has no events"),
        ("beside exchange", ("ode", "event_signals"), "ode has no event_signals"),
        ("beside exchange", ("ode",), "the whole has no ode"),
        ("exchange", ("at_events",), "ode is an object, must be beside at_events"),
        ("stiff exchange", ("ode", "jacobian"), "ode has no jacobian"),
        ("parts of FMI 1.0", ("parts", 0, "beginning"), "parts[0] has no beginning"),
        ("exchange", ("parts", 0, "exchange"), "ode.parts has 2 values, must have 1"),
    ],
)
def test_what_another_entry_calls_for_is_not_replaced_by_a_third(name, place, message, models, tmp_path):
    folder = unpacked(MAKE[name](models, tmp_path), tmp_path)
    assert message in refusal(folder, place, None, remove=True)


@pytest.mark.parametrize("at", ["from", "to"])
def test_a_wire_leads_from_text_to_text_and_from_bytes_to_bytes(at, models, tmp_path):
    folder = unpacked(_with_every_type(models, tmp_path), tmp_path)
    plan = json.loads((folder / "resources" / "plan.json").read_text(encoding="utf-8"))
    types = plan["types"]
    number = next(k for k, wire in enumerate(plan["wires"]) if types[wire["to"]] == "String")
    other = next(wire["from"] for wire in plan["wires"] if types[wire["from"]] == "Int32")
    message = refusal(folder, ("wires", number, at), other)
    assert f"wires[{number}].to is " in message and "a text" in message and "an integer" in message


def refusal(folder, place, value, *, remove=False):
    """The message on a plan in which something is replaced or removed, without the libraries of the parts."""
    for library in (folder / "resources" / "parts").rglob("*.so"):
        library.unlink()
    trials = damaged_plans.Trials(folder)
    whole = json.dumps(trials.plan)
    around = _at(trials.plan, place[:-1])
    if remove:
        del around[place[-1]]
    else:
        around[place[-1]] = value
    said = trials.run(json.dumps(trials.plan))[0]
    trials.file.write_text(whole, encoding="utf-8")
    assert "plan.json is not a plan: " in said
    return said


def _at(value, place):
    for key in place:
        value = value[key]
    return value


def _name(value):
    return ".".join(map(str, value)) if isinstance(value, tuple) else ""


def unpacked(fmu, folder):
    return Path(fmpy.extract(str(fmu), unzipdir=str(folder / "unpacked")))
