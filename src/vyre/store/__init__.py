"""What was learned, kept: the database, exchange files, keys."""
