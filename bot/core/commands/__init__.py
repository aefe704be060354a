"""Commands in comments: `/ascend-e2e …` at the start of a line; one file for each verb."""
