"""The version of the tools and of the Python package; CHANGELOG.md says what is in it."""

VERSION = "0.1.0"
