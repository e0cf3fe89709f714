"""The HTTP interface: routes, schemas, errors, access control, monitoring."""
