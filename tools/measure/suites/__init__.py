"""The suites: each file has the cases of one, how they run, and its tables."""
