"""Corrections for any classifier: importance reweighting and unbiased losses."""
