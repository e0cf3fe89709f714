"""The event log: rows, store, group commit, learner lock."""
