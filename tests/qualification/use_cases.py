"""Use cases of docs/qualification, and the tests that are their evidence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UseCase:
    """A use of ssptool whose errors somebody relies on to be found.

    Attributes
    ----------
    name
        Anchor on the page of the kit.
    evidence
        Files and folders of tests.
    claims
        The claims about the example systems count too.
    requirements
        The trace of requirements counts too.
    """

    name: str
    title: str
    evidence: tuple[str, ...]
    claims: bool = False
    requirements: bool = False


USE_CASES = (
    UseCase(
        "validate",
        "Validate in CI",
        ("tests/rules", "tests/cli/test_validate.py", "tests/documents/test_schema.py"),
        requirements=True,
    ),
    UseCase(
        "run",
        "Run",
        (
            "tests/network",
            "tests/engine/kernel",
            "tests/engine/masters",
            "tests/engine/event_mode/test_event_mode.py",
            "tests/engine/isolation",
            "tests/engine/test_arrays.py",
            "tests/engine/test_initialize.py",
            "tests/engine/test_parameter_wires.py",
            "tests/engine/test_plan.py",
            "tests/api/test_provenance.py",
            "tests/api/test_reproduce.py",
            "tests/results",
        ),
        claims=True,
    ),
    UseCase("study", "Study", ("tests/studies",)),
    UseCase(
        "export",
        "Export",
        (
            "tests/exporting/test_same_bits.py",
            "tests/exporting/test_every_setting.py",
            "tests/exporting/test_types.py",
            "tests/exporting/test_parameters.py",
            "tests/exporting/test_saved_states.py",
            "tests/exporting/test_opened_again.py",
        ),
    ),
    UseCase("edit", "Edit", ("tests/editing", "tests/documents/test_element_classes.py")),
)

BESIDE = ("tests/drawing/sheets/test_insides.py",)
"""Tests of requirements that are evidence of no use case."""


def all_evidence() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(path for one in USE_CASES for path in one.evidence), *BESIDE)))
