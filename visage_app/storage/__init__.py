"""File storage: folders or buckets, size limits of forms, a full disk."""
