"""The HTTP interface: routes, schemas, errors, security, monitoring."""
