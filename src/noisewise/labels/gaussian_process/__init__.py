"""Gaussian process classification through a flip matrix."""
