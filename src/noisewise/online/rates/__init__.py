"""Flip rates of feedback: estimated, tracked, per action and per annotator."""
