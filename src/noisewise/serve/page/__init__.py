"""The page of the service, and what it shows."""
