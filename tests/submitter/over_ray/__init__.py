"""The submitter over a pretended Ray cluster."""
