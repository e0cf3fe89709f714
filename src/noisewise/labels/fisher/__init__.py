"""Kernel Fisher discriminant under label noise."""
