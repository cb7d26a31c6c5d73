"""The API's door to scores, figures and progress: parse, call, answer."""
