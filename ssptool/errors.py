"""Errors of the caller's arguments and of missing packages, and the phrases that messages share.

Such phrases are similar names for a wrong one, the first of many things, and a number with its noun.
"""

import errno
import signal
from collections.abc import Collection, Iterable, Sequence, Set
from difflib import get_close_matches
from importlib import import_module
from typing import Any

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a process to end: of a scheduler of jobs, and of a terminal that is closed."""


class WrongUsage(Exception):
    """Wrong name or value in a call: an unknown signal, variant, format, rule or parameter, or an invalid value.

    The system has no error. The command line exits with `exit_status`, which is 1 for errors that list findings.
    """

    exit_status = 2

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # that of a KeyError is in quotes


class WrongValue(WrongUsage, ValueError):
    """A wrong value, or values that exclude each other; the message names them and the allowed ones."""


class WrongType(WrongUsage, TypeError):
    """A value that is not of the type of the variable it is for, or a call that does not fit the function."""


class ContradictingSettings(WrongValue):
    """Settings of a run that exclude each other: `settings` names them, `advice` says which one to omit or change."""

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


class UnusableFile(Exception):
    """A file that is not what it should be: results, a saved simulation, a study that was run, terminals of an FMU.

    Attributes
    ----------
    path
        As it was given.
    reason
        Text.
    line
        The first one is 1; None for the file as a whole.
    """

    def __init__(self, path: object, reason: str, line: int | None = None) -> None:
        super().__init__(f"{path}:{line}: {reason}" if line is not None else f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.line = line


def is_own(error: BaseException) -> bool:
    """Whether the class of an error or one of its bases is of this package, so that its message is for the user."""
    return any(kind.__module__.partition(".")[0] == "ssptool" for kind in type(error).__mro__)


_WAYS_OUT = {
    errno.ENOSPC: "make room, or choose another place",
    errno.EDQUOT: "make room, or choose another place",
    errno.EFBIG: "raise the limit of the size of files (ulimit -f), or write less",
    errno.EMFILE: "close programs, or raise the limit of open files (ulimit -n)",
    errno.ENFILE: "close programs, or raise the limit of open files (sysctl fs.file-max)",
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


class MissingPackage(ImportError):
    """A package that is needed, or a part of ssptool that was to be compiled, is not installed.

    Attributes
    ----------
    package
        Its name; empty for a part of ssptool.
    extra
        The extra of ssptool that has it: for studies, formats of results, drawing (matplotlib, plotly, resvg_py,
        jinja2), sliders in notebooks (ipywidgets), or one of the servers; empty if none has.
    """

    def __init__(self, said: str, package: str = "", extra: str = "") -> None:
        super().__init__(said)
        self.package = package
        self.extra = extra


def missing_extra(extra: str, package: str, user: str = "", otherwise: str = "") -> MissingPackage:
    """The error for a package of an extra. `user` needs it, if it is not always the same; `otherwise` goes without."""
    needs = f"{user} needs {package}" if user else _NEEDS[extra].format(package)
    way = f"pip install 'ssptool[{extra}]'" + (f", or {otherwise}" if otherwise else "")
    return MissingPackage(f"{needs}: {way}", package, extra)


def missing_kernel() -> MissingPackage:
    """The error for the native modules, which run systems."""
    return MissingPackage(
        "this installation of ssptool checks, explains and edits systems, and cannot run them, because it was made "
        "without a compiler: install a wheel of ssptool, or a C and a C++20 compiler and then ssptool again"
    )


def package_for(user: str, package: str) -> Any:
    """The package, loaded when it is needed. Raises MissingPackage."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingPackage(
            f"{user} needs {package}, which is not installed: pip install {package}", package
        ) from None


def studies_need(module: str) -> Any:
    """The module, loaded when it is needed. Raises MissingPackage."""
    try:
        return import_module(module)
    except ImportError:
        raise missing_extra("study", _PACKAGES[module.split(".")[0]]) from None


NEAR_MISSES = 3
MOST_COMPARED = 2_000_000
"""Pairs of names that are compared at most; with more pairs there are no suggestions."""


def similar_names(name: str, known: Collection[str], most: int = NEAR_MISSES, *, asked: int = 1) -> tuple[str, ...]:
    """Up to `most` known names that end or begin with a name, then names of similar spelling, in upper or lower case.

    `asked` is the number of names to look for among the same known names. The result is empty if that is too much work.
    """
    if len(known) * asked > MOST_COMPARED:
        return ()
    longer = [other for other in known if other.endswith("." + name) or other.startswith(name + ".")]
    plain: dict[str, str] = {}
    for other in known:
        plain.setdefault(other.lower(), other)
    near = (plain[one] for one in get_close_matches(name.lower(), plain, most))
    return tuple(dict.fromkeys((*longer, *near)))[:most]


def hint(name: str, known: Collection[str], near: Collection[str] | None = None) -> str:
    """The end of a message about an unknown name: the `near` ones, by default similar ones, or the first of all."""
    near = similar_names(name, known) if near is None else near
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; there are {abbreviated(known, MOST_KNOWN)}" if known else ""


MOST_KNOWN = 12
"""Known names that a message lists where none is like the unknown one."""


class UnknownName(WrongUsage, KeyError, ValueError):
    """A name that nothing has: of a signal, variable, component, connector, unit, variant, rule, tool or platform; or a
    pattern that fits none.

    Attributes
    ----------
    name
        As it was given.
    near : tuple of str
        Names that may have been meant.
    found
        Answer for the other names of the request, where there is one.
    """

    found: Any = None

    def __init__(
        self,
        said: str,
        name: str = "",
        known: Collection[str] = (),
        *,
        near: Collection[str] | None = None,
        because: str = "",
    ) -> None:
        """`said` is the message without the names that may have been meant: the `near` ones, or similar known ones. A
        name of a missing component is unknown `because` of that.
        """
        known = sorted(known) if isinstance(known, Set) else known
        self.name = name
        self.near = tuple(similar_names(name, known) if near is None else near)
        super().__init__(f"{name!r} is unknown, because {because}" if because else said + hint(name, known, self.near))


class AmbiguousName(WrongUsage, LookupError):
    """A name that may be several things, the `candidates`."""

    def __init__(self, name: str, candidates: Sequence[str], reason: str, way: str) -> None:
        super().__init__(f"{name!r} is ambiguous{reason}; {way}")
        self.name = name
        self.candidates = tuple(candidates)


def ambiguous_case(name: str, candidates: Sequence[str]) -> AmbiguousName:
    """The error for a name that several known ones have but for upper and lower case."""
    return AmbiguousName(name, candidates, f": there are {' and '.join(candidates)}", "give the exact name")


def in_other_case(name: str, known: Iterable[str]) -> str | None:
    """The known name that a name which none has equals but for upper and lower case; None: there is none.

    Raises
    ------
    AmbiguousName
        There are several.
    """
    folded = name.casefold()
    found = sorted({other for other in known if other.casefold() == folded})
    if len(found) > 1:
        raise ambiguous_case(name, found)
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
