"""The store on disk: one SQLite database, or one per host where hosts share a folder."""
