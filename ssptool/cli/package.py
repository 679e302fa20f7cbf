"""Commands about packages, variants and versions: example, pack, unpack, convert, export, variant, upgrade, …"""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import ssptool
from ssptool.cli.app import say
from ssptool.cli.completion import full_names
from ssptool.cli.edit import Diff, Force
from ssptool.cli.options import (
    WHAT_IS_COMPILED,
    Accept,
    AllowOutside,
    SystemPath,
    TextOrJson,
    bundled,
    changes_from,
    codes,
    fmi_version,
)
from ssptool.cli.settings_options import EXPORTED, EXPORTED_WORDS, settings_options
from ssptool.cli.terminal import busy
from ssptool.errors import counted
from ssptool.option_words import InterfaceWord, Types

if TYPE_CHECKING:
    from ssptool.editing.package import VariantEdit
    from ssptool.editing.versions import Migration


def example_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Example to write (default: list all).")] = None,
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Folder to write (default: NAME in the working folder).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty; its other files stay.")
    ] = False,
) -> None:
    """List the example systems, or write one into a folder.

    A release includes libraries of their FMUs for Linux, Windows and macOS. In other installations the FMUs are
    compiled for this platform, once.

    Examples:
      ssptool example
      ssptool example dual_mass_oscillator
    """
    if name is None:
        for one in ssptool.list_examples():
            say(f"{one.name}\n    {one.description}")
        say("To write one into a folder: `ssptool example NAME`")
        return
    with busy():
        written = ssptool.example(name, folder, force=force)
    say(f"{written.folder}: {counted(len(written.names), 'file')}")
    say(f"To run it: `ssptool run {shlex.quote(str(written.folder))}`")


def pack_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that contains SystemStructure.ssd.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE.ssp", help="Package to write (default: FOLDER.ssp).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write even if required files are left out or lie outside the folder.")
    ] = False,
) -> None:
    """Pack a folder into a package. Equal folders give equal files.

    READMEs, ssptool.toml, results next to the structures, and hidden files such as .git are left out. An existing
    package is replaced. The inverse is `unpack`.

    Examples:
      ssptool pack plant
      ssptool pack plant delivery/plant.ssp
    """
    packed = ssptool.pack(folder, file, force=force)
    for each in packed.left_out:
        say(f"skipped {each.name} ({each.reason})")
    say(f"{packed.path}: {counted(len(packed.names), 'file')}")


def unpack_command(
    file: Annotated[Path, typer.Argument(metavar="FILE.ssp", help="Package to unpack.")],
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="Folder to write (default: next to the package, with its name)."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty; its other files stay.")
    ] = False,
    portable: Annotated[
        bool, typer.Option("--portable", help="Fail if Linux, macOS or Windows does not allow a file name.")
    ] = False,
) -> None:
    """Write the files of a package into a folder.

    All files are written or none, and none outside the folder. The inverse is `pack`.

    Examples:
      ssptool unpack plant.ssp
    """
    unpacked = ssptool.unpack(file, folder, force=force, portable=portable)
    for name in unpacked.kept:
        say(f"kept {name}, which the package does not have")
    say(f"{unpacked.folder}: {counted(len(unpacked.names), 'file')}")


def convert_command(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="FMU, OspSystemStructure.xml, or the folder that contains it.")
    ],
    target: Annotated[Path, typer.Argument(metavar="FILE.ssp", help="Package to write, or a new folder.")],
    allow_outside: AllowOutside = None,
) -> None:
    """Convert an FMU, or a system of Open Simulation Platform, to SSP.

    Existing FMUs are packed, and connectors have types and units. Step sizes, algorithm and power bonds of an
    OspSystemStructure.xml become annotations; its functions Sum and VectorSum become small FMUs. The command lists
    everything that it cannot carry over.

    Examples:
      ssptool convert Motor.fmu motor.ssp
      ssptool convert crane/OspSystemStructure.xml crane.ssp
    """
    converted = ssptool.convert(source, target, allow_outside=allow_outside or [])
    for note in converted.notes:
        say(f"note: {note}")
    say(f"{converted.path}: {counted(len(converted.names), 'file')}")


Expose = Annotated[
    list[str] | None,
    typer.Option(
        "--expose",
        metavar="PATTERN",
        help="Expose matching parameters and signals of components as variables of the FMU: "
        "'System1.*' (default: outputs of all components, if the system has no connectors).",
        autocompletion=full_names,
    ),
]


@bundled(settings=settings_options(EXPORTED, words=EXPORTED_WORDS), changes=changes_from)
def export_command(
    system: SystemPath,
    fmu: Annotated[Path, typer.Argument(metavar="FILE.fmu", help="FMU to write. An existing file is replaced.")],
    settings: dict[str, Any],
    changes: dict[str, Any],
    platforms: Annotated[
        str | None,
        typer.Option(
            "--platforms",
            metavar="NAME,…",
            help="Include linux64, aarch64-linux, win64, darwin64 or aarch64-darwin (default: all "
            "platforms that every component supports).",
        ),
    ] = None,
    fmi: Annotated[
        int, typer.Option("--fmi", metavar="2|3", parser=fmi_version, help="Export for this version of FMI.")
    ] = 2,
    interface: Annotated[
        str,
        typer.Option(
            "--interface",
            metavar="cs|me|both",
            help="Offer co-simulation (cs), model exchange (me) or both. For me and both, all components "
            "must offer model exchange.",
        ),
    ] = "cs",
    expose: Expose = None,
    compile_sources: Annotated[bool, typer.Option("--compile", help=WHAT_IS_COMPILED)] = False,
    accept: Accept = None,
) -> None:
    """Export a system as one FMU.

    The FMU (FMI 2.0 or 3.0) contains the FMUs of all components and runs without ssptool and Python. For co-simulation
    it couples them as `run` does with the same options, and has the same values at the macro steps. For model exchange,
    the importer integrates the states of all components.

    Examples:
      ssptool export plant plant.fmu --expose 'Motor.*'
    """
    made = ssptool.export(
        system,
        fmu,
        fmi=fmi,
        interface=cast("InterfaceWord", interface),
        platforms=platforms.split(",") if platforms else (),
        expose=expose or (),
        compile=compile_sources,
        settings=settings,
        accept=codes(accept),
        **changes,
    )
    say(str(made))


Package = Annotated[Path, typer.Argument(metavar="SYSTEM", help="Package (.ssp) or unpacked folder.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name or file of the variant.")]

variant_app = typer.Typer(
    help="List and change the variants of a package.\n\nVariants are the SSDs at the root of the package.",
    no_args_is_help=True,
    add_completion=False,
)


@variant_app.command("list")
def variant_list(system: Package) -> None:
    """Show the variants; the first is the default, SystemStructure.ssd."""
    for number, variant in enumerate(ssptool.variants.list_variants(system)):
        default = ", the default" if number == 0 else ""
        say(f"{variant.name}  ({variant.file}, SSP {variant.version}{default})")


@variant_app.command("add")
def variant_add(
    system: Package,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new variant.")],
    like: Annotated[
        str | None, typer.Option("--from", metavar="VARIANT", help="Variant to copy (default: the default variant).")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE.ssd", help="File of the new variant (default: NAME.ssd).")
    ] = None,
    diff: Diff = False,
) -> None:
    """Copy a variant under another name.

    The inverse is `variant remove`.

    Examples:
      ssptool variant add plant Winter --from Summer
    """
    _print_variants(ssptool.variants.add_variant(system, name, like=like, file=file, save=not diff), diff)


@variant_app.command("remove")
def variant_remove(system: Package, name: Name, diff: Diff = False) -> None:
    """Remove a variant, except the default. Its FMUs and documents stay.

    Examples:
      ssptool variant remove plant Winter
    """
    _print_variants(ssptool.variants.remove_variant(system, name, save=not diff), diff)


@variant_app.command("default")
def variant_default(system: Package, name: Name, diff: Diff = False) -> None:
    """Make a variant the default.

    Its file becomes SystemStructure.ssd; the file of the previous default becomes NAME.ssd.

    Examples:
      ssptool variant default plant Winter
    """
    _print_variants(ssptool.variants.set_default_variant(system, name, save=not diff), diff)


def _print_variants(edit: "VariantEdit", diff: bool) -> None:
    say(ssptool.renderers.unified_diff(edit.files).rstrip("\n") if diff else "\n".join(edit.notes), verbatim=diff)


DocumentPath = Annotated[
    Path,
    typer.Argument(metavar="SYSTEM", help="System (.ssp, unpacked folder) or document (.ssd, .ssv, .ssm, .ssb)."),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="PATH", help="Write to this file or folder (default: in place)."),
]


def migration_text(migration: "Migration", target: Path) -> str:
    """Notes of a migration, one line each, and a summary."""
    lines = [str(change) for change in migration.changes]
    lines += [f"{name}: a package inside stays as it is: versions may be mixed" for name in migration.nested]
    if migration.files:
        names = ", ".join(file.name for file in migration.files)
        lines.append(f"converted {target} to SSP {migration.version} (changed: {names})")
    else:
        lines.append(f"{target} is SSP {migration.version} already, nothing to do")
    return "\n".join(lines)


def upgrade_command(
    system: DocumentPath,
    types: Annotated[
        Types,
        typer.Option(
            "--types",
            help="Keep types, or use those of FMI 3.0 (fmi3): Real becomes Float64 and Integer becomes "
            "Int32, also in documents of SSP 2.0.",
        ),
    ] = Types.KEEP,
    output: Output = None,
    diff: Diff = False,
    force: Force = False,
    allow_outside: AllowOutside = None,
) -> None:
    """Convert a system, or one document, to SSP 2.0.

    Nothing is lost, and elements that an earlier downgrade kept in annotations are restored. Only necessary changes are
    made, and those of --types. The inverse is `downgrade`.

    Examples:
      ssptool upgrade plant.ssp --types fmi3 --diff
    """
    allowed = allow_outside or []
    migration = ssptool.upgrade(
        system, types=types.value, output=output, force=force, save=not diff, allow_outside=allowed
    )
    say(
        ssptool.renderers.unified_diff(migration.files) if diff else migration_text(migration, output or system),
        nl=not diff,
        verbatim=diff,
    )


def downgrade_command(
    system: DocumentPath,
    drop: Annotated[
        bool,
        typer.Option(
            "--drop", help="Drop features that SSP 1.0 cannot represent, and references to them. Each one is listed."
        ),
    ] = False,
    output: Output = None,
    diff: Diff = False,
    force: Force = False,
    allow_outside: AllowOutside = None,
) -> None:
    """Convert a system, or one document, to SSP 1.0.

    The command lists features that SSP 1.0 can represent only in part. If SSP 1.0 cannot represent a feature, the
    command fails unless --drop is given. The original is always kept in annotations, from which `upgrade` restores it.
    The inverse is `upgrade`.

    Examples:
      ssptool downgrade plant.ssp --drop --diff
    """
    allowed = allow_outside or []
    migration = ssptool.downgrade(system, drop=drop, output=output, force=force, save=not diff, allow_outside=allowed)
    say(
        ssptool.renderers.unified_diff(migration.files) if diff else migration_text(migration, output or system),
        nl=not diff,
        verbatim=diff,
    )


def diff_command(
    a: Annotated[Path, typer.Argument(metavar="A", help="Package (.ssp), unpacked folder or .ssd.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Second system.")],
    variant: Annotated[
        list[str] | None,
        typer.Option(
            "--variant",
            metavar="NAME",
            help="Compare this variant of both systems; two values: of the first, then of the second system.",
        ),
    ] = None,
    format: Annotated[TextOrJson, typer.Option("--format", help="Print as text or json.")] = TextOrJson.TEXT,
    allow_outside: AllowOutside = None,
) -> None:
    """Compare two systems by meaning, not by text.

    Components, connectors, connections, parameter values, units and variants count; formatting, order, prefixes,
    descriptions, geometry and annotations do not.

    Exit status: 0 the systems are equal; 1 they differ; 2 wrong usage.

    Examples:
      ssptool diff before.ssp after.ssp
      ssptool diff plant plant --variant Summer --variant Winter
    """
    names: tuple[str | None, ...] = tuple(variant) if variant else (None,)
    if len(names) > 2:
        raise typer.BadParameter("give it once for both systems, or twice", param_hint="--variant")
    comparison = ssptool.diff(a, b, variant=names[0], variant_b=names[-1], allow_outside=allow_outside or [])
    say(ssptool.renderers.DIFF_RENDERERS[format.value](comparison), verbatim=format is TextOrJson.JSON)
    raise typer.Exit(0 if comparison.equal else 1)
