"""All claims: a module for each folder in `systems`, of the same name, with a tuple CLAIMS and a function `figures`."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tests.systems.claims.claim import Claim

SYSTEMS = Path(__file__).parents[3] / "systems"


def systems() -> list[str]:
    """Names of the example systems."""
    return sorted(path.parent.name for path in SYSTEMS.glob("*/SystemStructure.ssd"))


def claims_of(system: str) -> tuple[Claim, ...]:
    """The claims of one system; a system without a module of claims is an ImportError."""
    claims: tuple[Claim, ...] = import_module(f"tests.systems.claims.{system}").CLAIMS
    return claims


def figures_of(system: str) -> Iterator[Claim]:
    """Figures of the README of a system; LookupError if a sentence or table is not there."""
    figures: Iterator[Claim] = import_module(f"tests.systems.claims.{system}").figures()
    return figures


def catalogue() -> Iterator[tuple[str, Claim]]:
    """(system, claim) of all."""
    for system in systems():
        for claim in claims_of(system):
            yield system, claim
