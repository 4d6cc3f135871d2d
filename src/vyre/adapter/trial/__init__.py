"""Runs of configs on copies, in a process that may die, and how what they leave is compared."""
