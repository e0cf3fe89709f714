"""Single formulas of the papers held against exact expectations."""
