"""What a command may reach: bubblewrap, Landlock, seatbelt."""
