"""Construction of very many values: a large system has millions of them."""

made = tuple.__new__
"""Makes a NamedTuple from its class and all its fields, in 40 % of the time that calling the class takes."""
