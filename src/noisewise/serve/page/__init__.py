"""The page of the service, its demonstration and its sample digits."""
