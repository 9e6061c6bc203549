"""What is shared with other programs over a socket: the gateway, and event streams for front ends."""
