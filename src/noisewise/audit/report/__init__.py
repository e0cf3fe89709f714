"""The audit as a self-contained HTML page."""
