"""Shared mathematics, each formula once."""
