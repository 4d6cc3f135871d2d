"""What to try next: natural gradient, resize, search strategies."""
