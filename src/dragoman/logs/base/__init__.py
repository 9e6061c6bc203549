"""What every reader of logs is made of."""
