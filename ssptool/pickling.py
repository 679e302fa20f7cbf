"""Pickle values for another process of the package, with frozen mappings and errors that plain pickle refuses."""

import copyreg
import io
import pickle
from types import MappingProxyType
from typing import Any


class Pickler(pickle.Pickler):
    """Also takes frozen mappings, and errors whose constructors do not take what `args` holds."""

    dispatch_table = copyreg.dispatch_table.copy()
    dispatch_table[MappingProxyType] = lambda mapping: (_frozen, (dict(mapping),))

    def reducer_override(self, value: Any) -> Any:
        # Those of the operating system keep what they are about, such as the name of a file, by themselves.
        if isinstance(value, BaseException) and not isinstance(value, OSError):
            return _rebuild, (type(value), value.args, value.__dict__)
        return NotImplemented


def _frozen(entries: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(entries)


def _rebuild(kind: type[BaseException], arguments: tuple[Any, ...], facts: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(facts)
    return error


def dumps(value: Any) -> bytes:
    """A message as bytes for `pickle.loads`."""
    buffer = io.BytesIO()
    Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()
