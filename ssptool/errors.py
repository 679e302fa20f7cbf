"""Errors of the caller's arguments and of missing packages, and the phrases that messages share.

Such phrases are similar names for a wrong one, the first of many things, and a number with its noun.
"""

import errno
import signal
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a process to end: of a scheduler of jobs, and of a terminal that is closed."""


class WrongUsage(Exception):
    """A name or value of the caller that does not exist or cannot be: of a signal, variant, format, rule or parameter.

    The system has no error. The command line exits with `exit_status`: 1 of a kind that lists findings.
    """

    exit_status = 2


class WrongValue(WrongUsage, ValueError):
    """A wrong value, or values that exclude each other; the message names them and the allowed ones."""


class NotOfType(WrongUsage, TypeError):
    """A value that is not of the type of the variable it is for."""


class BeyondItsType(WrongUsage, OverflowError):
    """A value that the type of the variable it is for does not hold."""


class ContradictingSettings(WrongValue):
    """Settings of a run that exclude each other: `settings` names them, `advice` says which to leave out or change."""

    def __init__(self, settings: str, reason: str, advice: str) -> None:
        super().__init__(f"{settings}: {reason}; {advice}")
        self.settings = settings
        self.reason = reason
        self.advice = advice

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.settings, self.reason, self.advice)


class RenamedSetting(FutureWarning):
    """A setting that was given by its earlier name, which is for this version only."""


class PartialSystem(UserWarning):
    """A part of a system that was left out, because it cannot be read as SSP."""


def is_own(error: BaseException) -> bool:
    """Whether the class of an error or one of its bases is of this package, so that its message is for the user."""
    return any(kind.__module__.partition(".")[0] == "ssptool" for kind in type(error).__mro__)


_WAYS_OUT = {
    errno.ENOSPC: "make room, or choose another place",
    errno.EDQUOT: "make room, or choose another place",
    errno.EFBIG: "raise the limit of the size of files (ulimit -f), or write less",
    errno.EROFS: "choose a place that can be written",
    errno.EACCES: "change the permissions of the file or of its folder, or choose another",
    errno.EPERM: "change the permissions of the file or of its folder, or choose another",
}


def disk_trouble(error: OSError) -> str:
    """Message of the operating system, begun with a small letter, and what can be done about it where that is known."""
    said = f"{error.strerror[:1].lower()}{error.strerror[1:]}" if error.strerror else str(error)
    return "; ".join(filter(None, [said, _WAYS_OUT.get(error.errno or 0)]))


_PACKAGES = {
    "distributed": "dask[distributed]",
    "psutil": "psutil",
    "pyarrow": "pyarrow",
    "pymoo": "pymoo",
    "simpleeval": "simpleeval",
}


_NEEDS = {
    "lsp": "the language server needs {}",
    "mcp": "this server needs the package {}, version 2 or later",
    "plot": "this is drawn with {}, which is not installed",
    "studio": "the studio needs {}",
    "study": "studies need {}",
    "widgets": "sliders in notebooks need {}",
}


class MissingExtra(ImportError):
    """A package of an extra is not installed: for studies, formats of results, drawing (matplotlib, plotly, plotille,
    resvg_py, jinja2), sliders in notebooks (ipywidgets), or one of the servers.
    """

    def __init__(self, extra: str, package: str, user: str = "", otherwise: str = "") -> None:
        """`user` needs the package, if it is not always the same; `otherwise` goes without."""
        needs = f"{user} needs {package}" if user else _NEEDS[extra].format(package)
        super().__init__(f"{needs}: pip install 'ssptool[{extra}]'" + (f", or {otherwise}" if otherwise else ""))
        self.extra = extra
        self.package = package


class MissingKernel(ImportError):
    """The native modules, which run systems, are not installed."""

    def __init__(self) -> None:
        super().__init__(
            "this installation of ssptool checks, explains and edits systems, and cannot run them, because it was made "
            "without a compiler: install a wheel of ssptool, or a C and a C++20 compiler and then ssptool again"
        )


class MissingPackage(ImportError):
    """A package that ssptool does not need, and `user` does, is not installed."""

    def __init__(self, user: str, package: str) -> None:
        super().__init__(f"{user} needs {package}, which is not installed: pip install {package}")
        self.package = package


def package_for(user: str, package: str) -> Any:
    """The package, loaded when it is needed. Raises MissingPackage."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingPackage(user, package) from None


def studies_need(module: str) -> Any:
    """The module, loaded when it is needed. Raises MissingExtra."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra("study", _PACKAGES[module.split(".")[0]]) from None


NEAR_MISSES = 3
MOST_COMPARED = 2_000_000
"""Pairs of names that are compared at most; with more pairs there are no suggestions."""


def similar_names(name: str, known: Collection[str], most: int = NEAR_MISSES, *, asked: int = 1) -> tuple[str, ...]:
    """The known names that end or begin with a name, then those spelled like it; at most so many.

    `asked` is the number of names that are looked for among the same known ones; none where that is too much work.
    """
    if len(known) * asked > MOST_COMPARED:
        return ()
    longer = [other for other in known if other.endswith("." + name) or other.startswith(name + ".")]
    return tuple(dict.fromkeys((*longer, *get_close_matches(name, known, most))))[:most]


class AmbiguousCase(WrongUsage, LookupError):
    """A name that two known ones, the `candidates`, have but for upper and lower case."""

    def __init__(self, name: str, candidates: Sequence[str]) -> None:
        super().__init__(f"{name!r} is ambiguous: there are {' and '.join(candidates)}; give the exact name")
        self.name = name
        self.candidates = tuple(candidates)

    def __str__(self) -> str:
        return str(self.args[0])


def in_other_case(name: str, known: Iterable[str]) -> str | None:
    """The known name that a name which none has equals but for upper and lower case; None: there is none.

    Raises
    ------
    AmbiguousCase
        There are several.
    """
    folded = name.casefold()
    found = sorted({other for other in known if other.casefold() == folded})
    if len(found) > 1:
        raise AmbiguousCase(name, found)
    return found[0] if found else None


NAMED = 5
"""Things that a sentence names before it counts the others."""


def abbreviated(things: Iterable[object], most: int = NAMED, *, separator: str = ", ") -> str:
    """The first ones, and how many more there are; at least two, as one takes no more room than their number."""
    texts = list(map(str, things))
    if len(texts) <= most + 1:
        return separator.join(texts)
    return f"{separator.join(texts[:most])}{separator.rstrip(', ')} and {len(texts) - most} more"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`; `plural` is that of a noun to which no "s" is added."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
