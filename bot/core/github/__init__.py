"""What GitHub says, typed: webhook payloads and the events that they mean."""
