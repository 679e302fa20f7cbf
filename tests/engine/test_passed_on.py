"""The way of parameters from component to component."""

import itertools
from types import SimpleNamespace

import pytest

from ssptool.engine.assembly.applied_stimuli import MAX_PASSES, propagate
from ssptool.engine.failure import RunError
from ssptool.fmu.description import Variability
from ssptool.network.network import Signal, Wire

LONG = 3 * MAX_PASSES


class Adder:
    """It calculates c = p + 1; p is asked for only when it may be."""

    def __init__(self, *, told=True):
        self.p, self.told = 0.0, told

    def get(self, names):
        (name,) = names
        assert name == "c" or self.told
        return {name: self.p + 1.0 if name == "c" else self.p}

    def set(self, values):
        self.p = values["p"]


def system(names, pairs, told=True):
    """Wires from c to p of components."""
    wires = tuple(Wire(Signal(source, "c"), Signal(destination, "p")) for source, destination in pairs)
    variable = SimpleNamespace(type="Float64", variability=Variability.TUNABLE)
    network = SimpleNamespace(variable=lambda signal: variable)
    plan = SimpleNamespace(parameter_wires=wires, network=network, interval=SimpleNamespace(start=0.0))
    return plan, {name: Adder(told=told) for name in names}


def giving(instances):
    return lambda signal, value: instances[signal.component].set({signal.variable: value})


@pytest.mark.parametrize("against", [False, True])
def test_a_chain_of_any_length_settles_whatever_the_order_of_its_connections(against):
    names = [f"C{k}" for k in range(LONG)]
    pairs = list(itertools.pairwise(names))
    plan, instances = system(names, pairs[::-1] if against else pairs)
    assert list(propagate(plan, instances, names[:1], giving(instances), 1.0)) == names
    assert [instances[name].p for name in names] == list(range(LONG))


def test_only_what_follows_from_a_change_is_passed_on():
    plan, instances = system("ABCD", ["AB", "CD"])
    assert list(propagate(plan, instances, "A", giving(instances), 1.0)) == ["A", "B"]
    assert [one.p for one in instances.values()] == [0.0, 1.0, 0.0, 0.0]


def test_a_loop_without_end_is_named_with_its_members_and_nobody_else():
    plan, instances = system("ABCD", ["AB", "BC", "CB", "DA"])
    with pytest.raises(RunError, match=f"do not settle, after {MAX_PASSES} passes: B.p, C.p;"):
        propagate(plan, instances, "D", giving(instances), 1.0)
