"""Trees through noise: forests and boosting fitted to posteriors of the true label."""
