"""The value of another policy, from the log of the one that played."""
