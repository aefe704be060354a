"""What the services need from the outside, one Protocol a user; values in, values out."""
