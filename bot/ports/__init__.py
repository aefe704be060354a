"""The outside world as the services need it: one Protocol for each system."""
