"""The public functions: each opens a system, takes it as far as asked, and returns a frozen value.

`path` is an `.ssp`, the folder of an unpacked one, or an `.ssd`. `variant` names an SSD of the package by its
`name` or its file; without it `SystemStructure.ssd` is meant. `parameters` are `.ssv` files applied on top of the
system's own bindings, the last one winning; `start_values` (name → text) win over everything.

Common errors: FileNotFoundError, `InvalidDocument` (the file cannot be read at all), `UnknownName` (of a variant).

One module per group of functions, so that each function loads only what it needs; `ssptool` says which is where.
"""
