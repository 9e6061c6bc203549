"""What is asked of many sessions: index, query, statistics, search and drift."""
