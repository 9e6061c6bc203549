"""What is shared with other programs: the gateway, hooks of coding agents, event streams for front ends."""
