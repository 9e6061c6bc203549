"""Attacks on the real product: real processes, sockets and files, and the rule each of them proves (`make attack`)."""
