"""Experiments as declarations: cells, rows, engines, pages."""
