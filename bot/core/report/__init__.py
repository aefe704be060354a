"""The texts of check runs and replies: pure functions from views of rows to Markdown."""
