"""Gao, Yang and Zhou: robust nearest neighbours."""
