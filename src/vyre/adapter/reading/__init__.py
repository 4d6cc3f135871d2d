"""What the source of a kernel of others says of its block, and what it may hide."""
