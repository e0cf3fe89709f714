"""The papers, one folder each: declaration, tasks, tables, figures and printed numbers."""
