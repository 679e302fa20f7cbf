"""The kernel in plain Python: the specification of the native one, and the fallback without a compiler.

Each file does the same arithmetic as the file of this name in `core`, in the same order.
"""
