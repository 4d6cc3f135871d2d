"""Compiling beside the caller: a helper process, and what is asked of it."""
