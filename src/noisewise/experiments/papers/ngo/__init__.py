"""Ngo et al.: upper confidence weighted learning."""
