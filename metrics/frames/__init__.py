"""The only place where rows of the database become arrays (DESIGN §7).

Counted everywhere: current responses that fill a slot and were not withdrawn. Sums are made in SQL.
"""

from metrics.frames.boxes import boxes
from metrics.frames.depiction import GroupFrame, depiction, offensiveness_ratings
from metrics.frames.embeddings import (
    Embedded,
    EmbeddingFrame,
    NothingEmbedded,
    chosen_run,
    embedding_run,
    embedding_runs,
    embeddings,
    embeddings_in_words,
    encoder_of,
    finished_runs,
    groups_embedded,
    pull_sets,
    runs_compared,
)
from metrics.frames.inputs import holds_simulated, inputs_digest, rule_in_words, snapshot, stereotypes
from metrics.frames.prevalence import prevalence
from metrics.frames.rated import OffensivenessRatings, RatingRows, rated_offensiveness
from metrics.frames.ratings import (
    BY,
    NOT_STATED,
    RatingFrame,
    grouping,
    has_region,
    ratings,
    task_kinds,
)
from metrics.frames.tallies import Tally, together
from metrics.frames.texts import CaptionFrame, captions, captions_in_words, vocabulary
from metrics.frames.visual_nature import VisualFrame, visual_nature
from metrics.frames.votes import AssociationVotes, Pair, RatedAssociations, rated_associations, votes

__all__ = [
    "BY",
    "NOT_STATED",
    "AssociationVotes",
    "CaptionFrame",
    "Embedded",
    "EmbeddingFrame",
    "GroupFrame",
    "NothingEmbedded",
    "OffensivenessRatings",
    "Pair",
    "RatedAssociations",
    "RatingFrame",
    "RatingRows",
    "Tally",
    "VisualFrame",
    "boxes",
    "captions",
    "captions_in_words",
    "chosen_run",
    "depiction",
    "embedding_run",
    "embedding_runs",
    "embeddings",
    "embeddings_in_words",
    "encoder_of",
    "finished_runs",
    "grouping",
    "groups_embedded",
    "has_region",
    "holds_simulated",
    "inputs_digest",
    "offensiveness_ratings",
    "prevalence",
    "pull_sets",
    "rated_associations",
    "rated_offensiveness",
    "ratings",
    "rule_in_words",
    "runs_compared",
    "snapshot",
    "stereotypes",
    "task_kinds",
    "together",
    "visual_nature",
    "vocabulary",
    "votes",
]
