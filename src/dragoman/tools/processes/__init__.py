"""Commands: starting, watching and ending processes."""
