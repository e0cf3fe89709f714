"""Solvers of the corrected least-squares problems."""
