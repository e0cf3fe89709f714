"""Logistic regression through a flip matrix: linear, kernel and multi-kernel."""
