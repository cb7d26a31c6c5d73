"""What runs are planned for: `design["purpose"]` of a recipe, where more than one room needs to know it."""

VISUAL_QUESTIONS = "visual_questions"
BRIGHTNESS = "brightness"
ASSOCIATIONS = "associations"
"""Its answers hold associations."""
MACHINE_JUDGE = "machine_judge"
"""A model answers the items of a study (PROTOCOL §16)."""
