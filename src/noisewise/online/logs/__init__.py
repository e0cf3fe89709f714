"""Logged feedback, and the file formats it comes in."""
