"""Compiled loops: arrays and numbers in and out, chance as an argument, sums in a fixed order."""
