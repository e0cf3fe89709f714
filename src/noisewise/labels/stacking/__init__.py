"""Learners stacked by the likelihood of observed labels, and fitted again to the posterior of the true ones."""
