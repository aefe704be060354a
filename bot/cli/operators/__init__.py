"""What the operators' commands share; they work on the database, beside a running service."""
