"""The shapes of connectors that are arrays, and which of their elements a connection connects (SSP 2.0 §5.3.2)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ssptool.fmu.shapes import Shape, element_names, in_words
from ssptool.network.places import Tree
from ssptool.network.signals import Signal
from ssptool.network.terminals import Extents, Key, Terminal


def shapes(tree: Tree, terminals: Mapping[Key, Terminal], pairs: Iterable[tuple[Key, Key]]) -> dict[Key, Shape]:
    """Of all terminals that are arrays.

    What a system's connector leaves open it takes from what it is connected to as a whole: `pairs`. What stays open
    is refused.
    """
    extents = {key: _stated(tree, terminal) for key, terminal in terminals.items() if terminal.extents}
    if any(None in known for known in extents.values()):
        _deduce(extents, tuple(pairs))
    for key, known in extents.items():
        if None in known:
            tree.refuse(terminals[key].position, f"the array {str(key.signal)!r}, of which nothing says the size")
    return {key: tuple(int(extent or 0) for extent in known) for key, known in extents.items()}


def element_key(key: Key, name: str) -> Key:
    """Where an element of this name of the array at `key` is."""
    return key._replace(connector=name)


def by_element(terminals: Mapping[Key, Terminal], known: Mapping[Key, Shape]) -> dict[Key, Terminal]:
    """The terminals with the elements of each array in its place."""
    if not known:
        return dict(terminals)
    found: dict[Key, Terminal] = {}
    for key, terminal in terminals.items():
        shape = known.get(key)
        if shape is None:
            found[key] = terminal
            continue
        for name in element_names(key.connector, shape):
            own = element_key(key, name)
            found.setdefault(own, terminal._replace(key=own, signal=own.signal, extents=(), array=key.connector))
    return found


class Unpaired(ValueError):
    """The two ends of a connection do not have the same shape, or an index picks no element."""


def pairs_of_elements(
    source: tuple[Key, Shape, Sequence[int] | None], destination: tuple[Key, Shape, Sequence[int] | None]
) -> Iterator[tuple[Key, Key]]:
    """What a connection of two connectors, each with its shape and the indices that it picks, if any, connects.

    Raises
    ------
    Unpaired
    """
    (start, from_shape), (end, to_shape) = (_picked(*each) for each in (source, destination))
    if from_shape != to_shape:
        whole = f"{source[0].signal} is {in_words(from_shape)}, {destination[0].signal} is {in_words(to_shape)}"
        raise Unpaired(f"a connection of different shapes: {whole}")
    return zip(start, end, strict=True)


def _picked(key: Key, shape: Shape, indices: Sequence[int] | None) -> tuple[list[Key], Shape]:
    """The connected elements and their shape: a single element counts as a scalar (AMB-08: counted from 1)."""
    if indices is None:
        return [element_key(key, name) for name in element_names(key.connector, shape)], shape
    fits = len(indices) == len(shape) and all(1 <= i <= extent for i, extent in zip(indices, shape, strict=True))
    if not fits or not shape:
        found = " ".join(map(str, indices))
        raise Unpaired(f"the indices {found!r} pick no element of {key.signal}, which is {in_words(shape)}")
    return [element_key(key, f"{key.connector}[{','.join(map(str, indices))}]")], ()


def _stated(tree: Tree, terminal: Terminal) -> Extents:
    """With the numbers that size connectors were given."""
    beside, extents = terminal.signal.component, terminal.extents
    return tuple(tree.sizes.get(Signal(beside, each)) if isinstance(each, str) else each for each in extents)


def _deduce(extents: dict[Key, Extents], pairs: Sequence[tuple[Key, Key]]) -> None:
    """Fill in what is open, from one end of a connection to the other, until nothing more follows."""
    arrays = [pair for pair in pairs if all(key in extents for key in pair)]
    while True:
        before = dict(extents)
        for one, other in (*arrays, *((b, a) for a, b in arrays)):
            ours, theirs = extents[one], extents[other]
            if None in ours and len(ours) == len(theirs):
                extents[one] = tuple(b if a is None else a for a, b in zip(ours, theirs, strict=True))
        if before == extents:
            return
