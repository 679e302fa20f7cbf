"""The kernel in plain Python: the specification of the native one, and the fallback without a compiler.

Its modules are named as the files of `core` are, which do the same arithmetic in the same order.
"""
