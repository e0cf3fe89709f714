"""Served models: specification, learner, log applier, monitoring, reports."""
