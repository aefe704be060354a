"""What the demo says when something does not happen."""


class DemoError(Exception):
    """A part did not start, or what was waited for did not come; the text says which."""
