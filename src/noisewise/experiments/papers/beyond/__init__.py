"""Our own learners on the papers' cells."""
