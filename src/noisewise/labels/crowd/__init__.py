"""Labels by several annotators."""
