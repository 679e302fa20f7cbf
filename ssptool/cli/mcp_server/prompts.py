"""Prompts: jobs that users start by name in their client, each as a first message to the model."""

from collections.abc import Mapping
from typing import NamedTuple

import mcp_types

from ssptool.errors import WrongUsage


class _Job(NamedTuple):
    """A job with its arguments (name → description; all are necessary) and its text."""

    description: str
    arguments: Mapping[str, str]
    text: str


_JOBS: Mapping[str, _Job] = {
    "check": _Job(
        "Check a system, and propose fixes.",
        {"system": "The system, by its path in the folder."},
        "Check the system {system} with `validate`. Explain each error in one sentence with its file and line; `rule` "
        "has the requirement. Show the diff of `fix` where there is a fix, and of `edit` for the others. Save nothing.",
    ),
    "build": _Job(
        "Make a system of FMUs, and run it.",
        {"fmus": "The FMUs, by their paths in the folder.", "system": "The new system, such as plant.ssp."},
        "Make the system {system} of these FMUs: {fmus}. List their connectors with `info`, and connect outputs to "
        "inputs of the same quantity and unit with `new`; ask me where several fit. Show me the diff before you save. "
        "Then show me the diagram (`draw`), run the system, and plot its outputs.",
    ),
    "explain_difference": _Job(
        "Explain the difference between two runs.",
        {"run": "A run, such as run2, or a result file.", "reference": "The run that it is compared with."},
        "Compare {run} with {reference} (`compare`). Say which signals differ, from when on and by how much, and what "
        "differs between the runs. Compare the deviations with the stated errors. Plot the signals that deviate most.",
    ),
    "study": _Job(
        "Find out which parameters matter.",
        {"system": "The system, by its path in the folder.", "result": "The quantity of interest, in words."},
        "Find out which parameters of {system} matter most for {result}. List its parameters with `info`, choose at "
        "most six with ranges, and tell me why. Start a `study` with the design morris. Report the ranking with its "
        "intervals, and say whether there were enough runs.",
    ),
}


def _no_such_prompt(name: str) -> WrongUsage:
    """No prompt of this name."""
    return WrongUsage(f"there is no prompt {name!r}; prompts are {', '.join(_JOBS)}")


def _incomplete(name: str, missing: list[str]) -> WrongUsage:
    """A prompt without some of its arguments."""
    return WrongUsage(f"the prompt {name} needs {', '.join(missing)}")


def listed() -> list[mcp_types.Prompt]:
    return [
        mcp_types.Prompt(
            name=name,
            description=job.description,
            arguments=[
                mcp_types.PromptArgument(name=argument, description=told, required=True)
                for argument, told in job.arguments.items()
            ],
        )
        for name, job in _JOBS.items()
    ]


def prompt(name: str, given: Mapping[str, str]) -> mcp_types.GetPromptResult:
    """The first message of a job. Raises WrongUsage."""
    job = _JOBS.get(name)
    if job is None:
        raise _no_such_prompt(name)
    if missing := [one for one in job.arguments if not given.get(one)]:
        raise _incomplete(name, missing)
    text = job.text.format(**{one: given[one] for one in job.arguments})
    message = mcp_types.PromptMessage(role="user", content=mcp_types.TextContent(type="text", text=text))
    return mcp_types.GetPromptResult(description=job.description, messages=[message])
