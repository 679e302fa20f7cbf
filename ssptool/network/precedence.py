"""Which of several values for one variable wins, and the reason in words (SSP 2.0 §5.2.3; catalogue §1.6, step 5)."""

from enum import IntEnum
from typing import NamedTuple

from ssptool.documents.diagnostics import Position
from ssptool.network.network import Assignment, Overridden


class Authority(IntEnum):
    """Who gives a value, the weakest first."""

    BINDING = 0
    HOST_BINDING = 1
    """A binding of the component that refers to the system whose bindings it follows."""
    FILE = 2
    """A parameter set from outside the package."""
    COMMAND_LINE = 3
    CONNECTION = 4
    """A connection from a connector that was given a value (rule EXE-006, AMB-12)."""


class Giver(NamedTuple):
    """Who gives a value: by which authority, on how many levels below the root, at which binding or file."""

    authority: Authority
    level: int = 0
    owner: str = ""
    position: Position | None = None

    @property
    def rank(self) -> tuple[int, int, int]:
        """The greater one wins; among equals the later one."""
        bound = self.authority <= Authority.HOST_BINDING
        return (0, -self.level, self.authority) if bound else (1, 0, self.authority)


def reason(winner: Giver, loser: Giver) -> str:
    """Why the one wins over the other."""
    match winner.authority:
        case Authority.CONNECTION:
            return "a connection wins over a binding"
        case Authority.COMMAND_LINE:
            return "the command line wins over everything in the documents"
        case Authority.FILE if loser.authority is Authority.FILE:
            return _later(winner, loser, "of the sets given in addition the last one wins")
        case Authority.FILE:
            return "a set given in addition wins over the system's own bindings"
    if winner.level != loser.level:
        return f"outer bindings win: {winner.owner or 'the root system'} is around {loser.owner}"
    if winner.authority is not loser.authority:
        return "the bindings of a component follow those of the system that it refers to"
    return _later(winner, loser, "of the bindings of one element the last one wins")


def _later(winner: Giver, loser: Giver, why: str) -> str:
    return "within one binding the last value wins" if winner.position == loser.position else why


class Claim(NamedTuple):
    """A value that someone gives to a variable."""

    giver: Giver
    assignment: Assignment


def settle(claims: list[Claim]) -> Assignment:
    """The winning assignment, with those that it overrides, the strongest first."""
    ranked = sorted(claims, key=lambda claim: claim.giver.rank)
    winner = ranked.pop()
    losers = (Overridden(claim.assignment, reason(winner.giver, claim.giver)) for claim in reversed(ranked))
    final = winner.assignment
    return Assignment(final.target, final.value, final.unit, final.chain, tuple(losers))
