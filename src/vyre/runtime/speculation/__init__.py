"""Runs a cheap test before an exact one, whichever way is fastest."""
