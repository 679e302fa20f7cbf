"""Rename an element or a connector, and everything that refers to it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ssptool.arguments import text
from ssptool.documents import ssd
from ssptool.editing.bind import Addressees, BoundSet, Use, drop_idle_mapping, ensure_mapping, uses
from ssptool.editing.changes import EditError
from ssptool.editing.draft import ConnectorPlace, Draft, Place
from ssptool.editing.names import Name, enter, find, host_paths, is_host, require_free
from ssptool.network.targets import NamedTarget, VariableTarget


def rename(draft: Draft, old: Name, new: str) -> str:
    """Rename an element or a connector, and return its old name.

    Both names are without the names of enclosing systems.

    Connections, parameters and mappings are renamed accordingly. A parameter set or a mapping that other structures use
    does not change; the binding gets a mapping, or a copy of it.

    Raises
    ------
    UnknownName, AmbiguousName
        There is no such element or connector, or there are several.
    EditError
        The new name is taken or empty, it is the root system, or a parameter cannot follow.
    """
    new = text("new", new)
    found = find(draft.system, old)
    before = found.connector.name if isinstance(found, ConnectorPlace) else found.element.name
    if isinstance(found, ConnectorPlace):
        _rename_connector(draft, found, new)
    elif not found.path:
        draft.system.name = new
        draft.note(f"renamed the root system to {new}")
    else:
        _rename_element(draft, found, new)
    return before


def _rename_element(draft: Draft, place: Place, new: str) -> None:
    element, system, old = place.element, place.system, place.path[-1]
    if new == old:
        raise EditError(f"{place} has that name already")
    require_free(system, new, str(Place(place.path[:-1], system)), "choose another name")
    path = (*place.path[:-1], new)
    following = addressing(draft, place.path, path, None)
    require_free_to_follow(following)
    for connection in system.connections:
        if connection.get("startElement") == old:
            connection.start_element = new
        if connection.get("endElement") == old:
            connection.end_element = new
    element.name = new
    draft.note(f"renamed {place} to {'.'.join(path)}")
    follow(following)


def _rename_connector(draft: Draft, found: ConnectorPlace, new: str) -> None:
    owner, old = found.owner, found.connector.name
    if not new:
        raise EditError("a connector needs a name")
    if new in {each.name for each in owner.element.connectors}:
        raise EditError(f"{owner} already has a connector {new!r}")
    inside = _inside(draft, found)
    fmu = draft.fmu(owner.element)
    if fmu is not None and new not in fmu.variables:
        raise EditError(f"{found} has the name of a variable of its FMU, and the FMU has no variable {new!r}")
    # Parameters of an FMU's variable are not renamed, because they refer to the variable, not to a connector.
    addressed = fmu is None
    following = addressing(draft, (*owner.path, old), (*owner.path, new), old) if addressed else []
    if inside is not None:
        following += addressing(inside[0], (old,), (new,), old, inside[0])
    require_free_to_follow(following)
    _rename_uses(found, old, new)
    if inside is not None:
        _rename_uses(inside[1], old, new)
    draft.note(f"renamed the connector {found.owner}.{old} to {new}" if owner.path else f"renamed {old} to {new}")
    if inside is not None:
        inside[0].note(f"renamed {old} to {new}")
    follow(following)


def _inside(draft: Draft, found: ConnectorPlace) -> tuple[Draft, ConnectorPlace] | None:
    """The connector of the structure that a component refers to, which has and keeps the same name."""
    if not is_host(found.owner.element):
        return None
    inner = enter(draft, found.owner)
    for connector in inner.system.connectors:
        if connector.name == found.connector.name:
            return inner, ConnectorPlace(Place((), inner.system), connector)
    return None


def _rename_uses(found: ConnectorPlace, old: str, new: str) -> None:
    """Rename a connector, and the references to it in its document."""
    owner, connector = found.owner, found.connector
    if isinstance(owner.element, ssd.System):
        _rename_ends(owner.element, "", old, new)
    if owner.around:
        _rename_ends(owner.system, owner.element.name, old, new)
    for sibling in owner.element.connectors:
        for clock in sibling.clocks:
            if clock.name == old:
                clock.name = new
        for dimension in sibling.dimensions:
            if dimension.size_connector == old:
                dimension.size_connector = new
    connector.name = new


def _rename_ends(system: ssd.System, element: str, old: str, new: str) -> None:
    for connection in system.connections:
        if connection.start == (element, old):
            connection.start_connector = new
        if connection.end == (element, old):
            connection.end_connector = new


@dataclass(frozen=True, slots=True, eq=False)
class RenamedUse:
    """A use of a parameter in a structure, and its new name in the element of its binding."""

    draft: Draft
    use: Use
    name: str


def addressing(
    draft: Draft,
    old: tuple[str, ...],
    new: tuple[str, ...],
    connector: str | None,
    outermost: Draft | None = None,
) -> list[RenamedUse]:
    """Uses that refer to the renamed object, found before the edit: in its structure and in enclosing ones."""
    found = []
    for around, path in draft.outwards():
        for host in _hosts_of(draft, around, path):
            found += _addressing_in(around, (*host, *old), (*host, *new), connector)
        if around is outermost:
            break
        if around.host is None and around is not draft:
            for variant, host in _of_other_variants(draft, around):
                found += _addressing_in(variant, (*host, *old), (*host, *new), connector)
    return found


def _of_other_variants(draft: Draft, root: Draft) -> Iterator[tuple[Draft, tuple[str, ...]]]:
    """Uses of the document in other variants of the package, whose parameters also refer to it."""
    for document in root.archive.variants():
        if document.name != root.document.name:
            variant = Draft(root.archive, document, root.notes, root.packages)
            for host in host_paths(draft, document.name):
                yield variant, host


def _hosts_of(draft: Draft, around: Draft, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Paths of a structure in the enclosing structure; in the outermost one, for every use of the document."""
    if around is draft or around.host is not None:
        return [path]
    return [path, *(host for host in host_paths(draft) if host != path)]


def _addressing_in(draft: Draft, old: tuple[str, ...], new: tuple[str, ...], connector: str | None) -> list[RenamedUse]:
    addressees: Addressees | None = None
    found = []
    before, after = ".".join(old), ".".join(new)
    for use in uses(draft):
        path = use.bound.place.path
        if len(path) >= len(old) or path != old[: len(path)]:
            continue  # bindings at the element and below do not contain its name
        rest = use.full.removeprefix(before)
        if rest == use.full or (rest if connector else not rest.startswith(".")):
            continue
        addressees = addressees or Addressees(draft)
        meant = [_is_meant(target, old, connector) for target in addressees.of(use.full)]
        if meant and not all(meant):
            if any(meant):
                raise EditError(
                    f"the parameter {use.full} in {use.bound} sets both {before} and something else of the same name: "
                    "give the two different names first"
                )
            continue
        shift = len(".".join(path)) + 1 if path else 0
        found.append(RenamedUse(draft, use, (after + rest)[shift:]))
    return found


def _is_meant(target: NamedTarget, old: tuple[str, ...], connector: str | None) -> bool:
    if isinstance(target, VariableTarget):
        return connector is None and target.place.path[: len(old)] == old
    if connector is None:
        return target.key.path[: len(old)] == old
    return (*target.key.path, target.key.connector) == old


def require_free_to_follow(following: list[RenamedUse]) -> None:
    """Raise EditError if some use cannot be renamed, before anything is renamed."""
    groups = by_binding(following)
    mapping = [(draft.document.name, bound.mapping_file) for draft, bound, _ in groups if bound.mapping is not None]
    for draft, bound, group in groups:
        if bound.mapping is not None:
            _require_own_mapping(draft, bound, Counter(mapping))
        elif not is_shared(draft, bound):
            new_prefix(bound, group)


def follow(following: list[RenamedUse]) -> None:
    """Rename the uses; if they are shared, without changes for other users."""
    for draft, bound, group in by_binding(following):
        if bound.mapping is not None:
            names = {each.use.entry.target: each.name for each in group if each.use.entry is not None}
            ensure_mapping(draft, bound, Addressees(draft), names)
            drop_idle_mapping(draft, bound)
        elif is_shared(draft, bound):
            # The set is also used elsewhere, so this binding maps its names to the new ones.
            ensure_mapping(draft, bound, Addressees(draft), {each.use.name: each.name for each in group})
        elif (prefix := new_prefix(bound, group)) is not None:
            bound.binding.prefix = prefix
        else:
            for each in group:
                each.use.parameter.name = each.name[len(bound.binding.prefix) :]
    if following:
        count = len(following)
        note = following[0].draft.outermost.note
        note(f"{count} parameter names follow" if count > 1 else "one parameter name follows")


def by_binding(following: list[RenamedUse]) -> list[tuple[Draft, BoundSet, list[RenamedUse]]]:
    groups: dict[ssd.ParameterBinding, tuple[Draft, BoundSet, list[RenamedUse]]] = {}
    for each in following:
        groups.setdefault(each.use.bound.binding, (each.draft, each.use.bound, []))[2].append(each)
    return list(groups.values())


def new_prefix(bound: BoundSet, group: list[RenamedUse]) -> str | None:
    """New prefix of a binding for the new names; None if it does not change.

    It changes only if it contains the old name, and if that applies to all parameters of the set.
    """
    prefix = bound.binding.prefix
    if all(each.name.startswith(prefix) for each in group):
        return None
    new = group[0].name.removesuffix(group[0].use.parameter.name)
    complete = len(group) == len(bound.values.parameters)
    if not complete or any(each.name != new + each.use.parameter.name for each in group):
        raise EditError(
            f"the prefix {prefix!r} of the binding of {bound} ends inside the name: edit the prefix in the document"
        )
    return new


def is_shared(draft: Draft, bound: BoundSet) -> bool:
    """True if another structure, or another binding of this one, also uses the values."""
    return bound.binding.source is not None and bool(_others(draft, bound.file))


def _require_own_mapping(draft: Draft, bound: BoundSet, following: Counter[tuple[str, str]]) -> None:
    """Check that a mapping is edited for all of its users, or that it has only one.

    `following` counts, by document and mapping, the bindings whose names change.
    """
    holder, file = bound.binding.parameter_mapping, bound.mapping_file
    if holder is None or holder.source is None:
        return
    here = draft.document.name
    others = [user for user in draft.users(file) if user != here]
    staying = [user for user in others if following[user, file] < _references(draft, user, file)]
    if following[here, file] < _references(draft, here, file):
        staying.append(f"another binding of {here}")
    if staying:
        raise EditError(
            f"the mapping {file} maps the name that changes, and {' and '.join(staying)} "
            f"use{'s' * (len(staying) == 1)} it as well: give this binding a mapping of its own first"
        )


def _references(draft: Draft, user: str, file: str) -> int:
    """Number of bindings with this mapping in a document of the archive."""
    other = Draft(draft.archive, draft.archive.document(user))
    mappings = other.root.every(ssd.ParameterMapping)
    return sum(each.source is not None and other.entry(each.source) == file for each in mappings)


def _others(draft: Draft, file: str) -> list[str]:
    """Other users of a parameter set: other structures, and this one if it binds the set several times."""
    here = draft.document.name
    bindings = draft.root.every(ssd.ParameterBinding)
    references = [each for each in bindings if each.source is not None and draft.entry(each.source) == file]
    return [user for user in draft.users(file) if user != here] + [f"other bindings of {here}"] * (len(references) > 1)
