"""One reader per client: its files as events."""
