"""Contract kits for new backends, policies and stores, and programs to try them on."""
