"""Nearest neighbours under label noise."""
