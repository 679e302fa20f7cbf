"""The behaviour that the catalogue asks of parameters, case by case (SSP 2.0 §5.2.3, §7.1; ids SSD-PAR-…, SSM-…)."""

from dataclasses import dataclass, field

import pytest
from pytest import approx

from ssptool.network.network import Signal
from tests.network.packages import (
    MODE,
    bindings,
    component,
    content,
    flat,
    mapped,
    model,
    package,
    ssd,
    ssm,
    ssv,
    system,
    values,
)

M = model(
    'parameter k Real start="1" unit="m"; parameter n Integer start="0"; parameter x.y Real start="0";'
    'input u Real start="0"; output z Real; calculatedParameter c Real; local state Real initial="exact" start="0";'
    'local start Real start="0"',
    types=MODE,
)
# FMI 2 puts `initial` on the variable; the helper writes attributes on the type.
M = M.replace('causality="local"><Real initial="exact"', 'causality="local" initial="exact"><Real')
FMI1 = M.replace('fmiVersion="2.0"', 'fmiVersion="1.0"')


def a(bound="", interface="", name="A"):
    return component(name, "m", interface, bound)


def host(bound="", name="P"):
    """A component that refers to the SSD `Sub.ssd`."""
    return f'<ssd:Component name="{name}" type="application/x-ssp-definition" source="Sub.ssd">{bound}</ssd:Component>'


SHARED = ssv("A.k Real value='2'", "A.nothing Real value='3'", "Nobody.k Real value='4'")
TWO = bindings(ssv("A.k Real value='1'"), ssv("A.k Real value='2'"))
X = 'prefix="p_"'


@dataclass(frozen=True)
class Case:
    """The content of the root system, and the values that follow."""

    rule: str
    what: str
    root: str
    expected: dict[str, object]
    files: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


CASES = [
    Case("SSD-PAR-007", "names apply as they are", bindings(SHARED) + content("", [a()], []), {"A.k": 2.0}),
    Case(
        "SSD-PAR-008",
        "with a mapping only mapped names apply, under their new names",
        mapped(ssv("a Real value='2'", "A.n Integer value='3'"), ssm("source='a' target='A.k'"))
        + content("", [a()], []),
        {"A.k": 2.0},
    ),
    Case("SSD-PAR-008", "an empty mapping disables the binding", mapped(SHARED, ssm()) + content("", [a()], []), {}),
    Case(
        "SSD-PAR-008",
        "a name that is mapped elsewhere does not apply under its old name",
        mapped(ssv("A.k Real value='2'"), ssm("source='A.k' target='A.u'")) + content("", [a()], []),
        {"A.u": 2.0},
    ),
    Case(
        "SSD-PAR-009",
        "mapping sources carry the prefix",
        mapped(ssv("a Real value='2'"), ssm("source='p_a' target='A.k'", "source='a' target='A.u'"), X)
        + content("", [a()], []),
        {"A.k": 2.0},
    ),
    Case(
        "SSD-PAR-009",
        "the prefix is put before every name, verbatim",
        bindings('source="resources/p.ssv" prefix="A."') + content("", [a()], []),
        {"A.k": 2.0, "A.x.y": 3.0},
        {"resources/p.ssv": ssv("k Real value='2'", "x.y Real value='3'", "A.n Integer value='1'")},
    ),
    Case(
        "SSD-PAR-010",
        "names are local to the element that owns the binding",
        content("", [a(bindings(ssv("A.k Real value='1'", "k Real value='2'")))], []),
        {"A.k": 2.0},
    ),
    Case(
        "SSD-PAR-011",
        "hierarchical names from every level",
        bindings(ssv("S.T.A.k Real value='1'"))
        + content(
            "",
            [
                system(
                    "S",
                    "",
                    [system("T", "", [a(bindings(ssv("u Real value='3'")))], [])],
                    [],
                    bindings(ssv("T.A.n Integer value='2'")),
                )
            ],
            [],
        ),
        {"S.T.A.k": 1.0, "S.T.A.n": 2, "S.T.A.u": 3.0},
    ),
    Case(
        "SSD-PAR-011",
        "names are compared whole, dots and all",
        bindings(ssv("A.x.k Real value='1'", "A.x.y Real value='2'")) + content("", [a(name="A.x"), a()], []),
        {"A.x.k": 1.0, "A.x.y": 2.0},
    ),
    Case(
        "SSD-PAR-011",
        "below a component on an SSD the component's name counts, not that of the inner root (AMB-22)",
        bindings(ssv("P.A.k Real value='1'", "P.root.A.n Integer value='2'")) + content("", [host()], []),
        {"P.A.k": 1.0},
        {"Sub.ssd": ssd(content("", [a()], []))},
    ),
    Case(
        "SSD-PAR-012",
        "a name that several variables share sets all of them",
        bindings(ssv("A.x.y Real value='4'"))
        + content("", [a(), system("A.x", "parameter y Real", [a(interface="parameter k")], ["y -> A.k"])], []),
        {"A.x.y": 4.0, "A.x.A.k": 4.0},
    ),
    Case("SSD-PAR-013", "a later binding of an element wins", TWO + content("", [a()], []), {"A.k": 2.0}),
    Case(
        "SSD-PAR-013",
        "external and inline bindings count in document order",
        bindings('source="resources/p.ssv"', ssv("A.n Integer value='2'")) + content("", [a()], []),
        {"A.k": 1.0, "A.n": 2},
        {"resources/p.ssv": ssv("A.k Real value='1'", "A.n Integer value='1'")},
    ),
    Case(
        "SSD-PAR-014",
        "an outer level wins, variable by variable",
        bindings(ssv("S.A.k Real value='3'"))
        + content(
            "",
            [
                system(
                    "S",
                    "",
                    [a(bindings(ssv("k Real value='1'", "n Integer value='1'", "u Real value='1'")))],
                    [],
                    bindings(ssv("A.k Real value='2'", "A.n Integer value='2'")),
                )
            ],
            [],
        ),
        {"S.A.k": 3.0, "S.A.n": 2, "S.A.u": 1.0},
    ),
    Case(
        "SSD-PAR-015",
        "bindings of a component on an SSD follow those of the SSD's root system, and lose to outer levels",
        bindings(ssv("P.A.u Real value='3'"))
        + content("", [host(bindings(ssv("A.k Real value='2'", "A.u Real value='2'")))], []),
        {"P.A.k": 2.0, "P.A.n": 1, "P.A.u": 3.0},
        {
            "Sub.ssd": ssd(
                bindings(ssv("A.k Real value='1'", "A.n Integer value='1'", "A.u Real value='1'"))
                + content("", [a()], [])
            )
        },
    ),
    Case(
        "SSD-PAR-016",
        "variables need no connector",
        bindings(ssv("A.k Real value='2'", "A.x.y Real value='3'")) + content("", [a(interface="output z")], []),
        {"A.k": 2.0, "A.x.y": 3.0},
    ),
    Case(
        "SSD-PAR-018",
        "an initial that is exact, and inputs of FMI 2 (AMB-14), take a value",
        bindings(ssv("A.state Real value='2'", "A.u Real value='3'")) + content("", [a()], []),
        {"A.state": 2.0, "A.u": 3.0},
    ),
    Case(
        "SSD-PAR-020",
        "connectors of the root system take values, whatever their kind",
        bindings(ssv("p Real value='1'", "i Real value='2'", "o Real value='3'", "q Real value='4'"))
        + content("parameter p Real, input i Real, output o Real, calculatedParameter q Real", [a()], []),
        {"p": 1.0, "i": 2.0, "o": 3.0, "q": 4.0},
    ),
    Case(
        "SSD-PAR-020",
        "the value of an inner system's connector is the source of its connections",
        content(
            "",
            [
                system(
                    "S",
                    "parameter p Real mm, input i Real",
                    [a(interface="parameter k, input u")],
                    ["p -> A.k", "i -> A.u"],
                    bindings(ssv("p Real value='250'", "i Real value='2'")),
                )
            ],
            [],
        ),
        {"S.A.k": approx(0.25), "S.A.u": 2.0},
    ),
    Case("SSD-PAR-025", "an empty set changes nothing", bindings(ssv()) + content("", [a()], []), {}),
    Case(
        "SSM-002",
        "each target starts from the original value",
        mapped(
            ssv("a Real value='2'"),
            ssm(
                "source='a' target='A.k'|<ssc:LinearTransformation factor='10' offset='1'/>", "source='a' target='A.u'"
            ),
        )
        + content("", [a()], []),
        {"A.k": 21.0, "A.u": 2.0},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_follow_the_rule(tmp_path, case):
    network = flat(package(tmp_path, ssd(case.root), {"m": M}, case.files))
    assert values(network) == case.expected
    assert network.unsupported == ()


@pytest.mark.parametrize(
    ("rule", "variable", "fmu"),
    [
        ("SSD-PAR-017", "z", FMI1),
        ("SSD-PAR-018", "z", M),
        ("SSD-PAR-018", "c", M),
    ],
)
def test_what_an_fmu_calculates_takes_no_value(tmp_path, rule, variable, fmu):
    root = bindings(ssv(f"A.{variable} Real value='2'")) + content("", [a()], [])
    network = flat(package(tmp_path, ssd(root), {"m": fmu}))
    assert values(network) == {}
    assert any(
        refused.feature == f"a value for A.{variable}, which its FMU calculates" for refused in network.unsupported
    )


def losers(network, component_, variable):
    assignment = network.assignments[Signal(component_, variable)]
    return assignment.value, [(loser.assignment.value, loser.reason) for loser in assignment.overridden]


def test_what_loses_is_kept_with_the_reason_the_strongest_first(tmp_path):
    """Two bindings of the component, one of the system around it, two of the root, a file, the command line."""
    file = tmp_path / "more.ssv"
    file.write_text(ssv("S.A.k Real value='6'"))
    inner = bindings(ssv("k Real value='1'"), ssv("k Real value='2'"))
    around = bindings(ssv("A.k Real value='3'"))
    root = bindings(ssv("S.A.k Real value='4'"), ssv("S.A.k Real value='5'"))
    text = ssd(root + content("", [system("S", "", [a(inner)], [], around)], []))
    archive = package(tmp_path / "ssp", text, {"m": M})
    network = flat(archive, parameter_files=[file], start_values={"S.A.k": "7"})
    line = "--set wins over the documents of the system"
    beaten = [(6.0, "--set wins over --parameters"), *((value, line) for value in (5.0, 4.0, 3.0, 2.0, 1.0))]
    assert losers(network, "S.A", "k") == (7.0, beaten)
    value, beaten = losers(flat(archive), "S.A", "k")
    assert value == 5.0
    assert beaten == [
        (4.0, "of the bindings of one element the last one wins"),
        (3.0, "outer bindings win: the root system contains S"),
        (2.0, "outer bindings win: the root system contains S.A"),
        (1.0, "outer bindings win: the root system contains S.A"),
    ]
    assert losers(flat(archive, parameter_files=[file]), "S.A", "k")[1][0] == (
        5.0,
        "--parameters wins over the parameter sets that the system binds",
    )


def test_the_reason_names_the_reference_and_the_connection(tmp_path):
    sub = ssd(bindings(ssv("A.k Real value='1'")) + content("", [a()], []))
    inside = system(
        "S",
        "parameter p Real",
        [a(bindings(ssv("k Real value='8'")), "parameter k")],
        ["p -> A.k"],
        bindings(ssv("p Real value='9'")),
    )
    text = ssd(content("", [host(bindings(ssv("A.k Real value='2'"))), inside], []))
    network = flat(package(tmp_path, text, {"m": M}, {"Sub.ssd": sub}))
    assert losers(network, "P.A", "k") == (
        2.0,
        [(1.0, "the bindings of a component override those of the system that it refers to")],
    )
    assert losers(network, "S.A", "k") == (9.0, [(8.0, "a connection wins over a binding")])


def test_losers_have_chains_of_their_own(tmp_path):
    bound = bindings('source="resources/p.ssv"', ssv("A.k Real value='250' unit='mm'"), ssv("A.k Real value='2'"))
    files = {"resources/p.ssv": ssv("A.k Real value='1'")}
    network = flat(package(tmp_path, ssd(bound + content("", [a()], [])), {"m": M}, files))
    second, first = (loser.assignment for loser in network.assignments[Signal("A", "k")].overridden)
    assert [(step.kind, step.value, step.unit) for step in second.chain] == [
        ("binding", 250.0, "mm"),
        ("unit", 0.25, "m"),
    ]
    assert (first.chain[0].position.file, first.chain[0].position.line) == ("resources/p.ssv", 3)
