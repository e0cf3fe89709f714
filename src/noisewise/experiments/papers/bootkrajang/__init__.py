"""Bootkrajang and Kaban: robust kernel logistic regression."""
