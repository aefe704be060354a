"""GitHub's limits on what is written there.

Its pages say characters; measured, it counts bytes of UTF-8 (422 "exceeds a maximum bytesize").
"""

TEXT_BYTES = 65_535  # of a check run's summary, of its text, and of a comment
TITLE_CHARS = 255
SHOWN_TITLE_CHARS = 120  # lists of check runs, and phones, cut a longer one
TITLE_BYTES = 255  # of the same: what is not ASCII takes more than a byte a character
ANNOTATION_BYTES = 64 * 1024
ANNOTATIONS_A_REQUEST = 50
