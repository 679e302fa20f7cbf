"""The kernel in plain Python: the specification of the native one, and the fallback without a compiler.

It does the same arithmetic as the files of `core`, in the same order.
"""
