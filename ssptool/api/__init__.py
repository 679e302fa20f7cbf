"""The public functions: each opens a system, does its work, and returns a frozen value.

`path` is an `.ssp`, the folder of an unpacked one, or an `.ssd`. `variant` selects an SSD of the package by its
`name` or its file (default: `SystemStructure.ssd`). `parameters` are `.ssv` files that override the bindings of the
system; the last one wins. `start_values` (name → value) override all others.

Common errors: FileNotFoundError, `InvalidDocument` (the file is not readable), `UnknownName` (of a variant).

Each group of functions has its own module, so that a function loads only its dependencies. `ssptool` lists the modules.
"""
