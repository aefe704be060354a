"""The values of the service: what a row holds once it has left the database.

Every time is an aware UTC ``datetime``; every id is GitHub's number or a ULID.
"""
