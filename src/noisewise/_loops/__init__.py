"""Compiled loops: arrays and scalars in and out, random state as an argument, sums in a fixed order."""
