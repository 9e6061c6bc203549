"""Files: the workspace on disk or in memory, its transactions, and what text files are made of."""
