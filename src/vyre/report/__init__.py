"""Text, HTML: what was learned, for people to read and to look at."""
