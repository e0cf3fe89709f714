"""Agarwal and Manwani: noisy bandit feedback."""
