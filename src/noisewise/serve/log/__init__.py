"""The event log: store, events, group commit, locks, export."""
