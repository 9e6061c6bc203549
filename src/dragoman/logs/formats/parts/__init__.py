"""What one client's reader is made of, and what two clients share."""
