"""The pooled kernel ridge behind the label audit."""
