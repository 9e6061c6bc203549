"""What every vocabulary is made of: declarations, results, and the text formats several of them share."""
