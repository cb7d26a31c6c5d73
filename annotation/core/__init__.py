"""Code shared by all packages of this app. Nothing here imports its models."""
