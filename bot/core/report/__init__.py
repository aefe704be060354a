"""The texts of check runs, comments and replies: pure functions from views of rows to Markdown."""
