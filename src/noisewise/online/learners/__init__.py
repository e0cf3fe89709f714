"""Learners that take one round at a time, as policy x signal x rule."""
