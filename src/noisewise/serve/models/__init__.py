"""Served models: state, learner, decisions, reports."""
