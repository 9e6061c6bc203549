"""What is shared with other programs over a socket: the gateway."""
