"""Choices as text: the TOML files in which they are reviewed, shared and kept in a repository."""
