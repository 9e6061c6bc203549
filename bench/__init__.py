"""What dragoman costs beside its peers and the leanest code possible, always as ratios from one run."""
