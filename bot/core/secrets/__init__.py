"""What a secret looks like, and how it is taken out of text."""
