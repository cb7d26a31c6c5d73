"""The API's door to image sets, runs and how images came to be: parse, call, answer."""
