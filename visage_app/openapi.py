"""Settings of the API schema (docs/api.md)."""

SPECTACULAR_SETTINGS = {
    "TITLE": "Visage",
    "DESCRIPTION": (
        "Human studies of visual stereotypes in text-to-image models, for programs. Errors are RFC 9457 "
        "problems, lists use cursor pagination, and JSON responses have ETags. Introduction: docs/api.md."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "persistAuthorization": False, "validatorUrl": None},
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "StudyStatus": "annotation.models.StudyStatus",
        "StudyMove": ["closed", "open", "paused"],
        "EnrolmentStatus": "annotation.models.EnrolmentStatus",
        "PersonStatus": "annotation.participation.api.people.STATUSES",
        "TaskKind": "annotation.models.TaskKind",
        "RunKind": "generation.models.RunKind",
        "RunState": "generation.models.RunState",
        "ScoreRunState": "annotation.core.leases.JobState",
        "Variant": "metrics.models.Variant",
        "Intervals": "annotation.models.Intervals",
        "RunIntervals": "metrics.models.RunIntervals",
        "EffectVariant": "metrics.embedding_tests.stats.effects.VARIANTS",
        "Axis": "annotation.models.Axis",
        "Images": ["images"],
        "Modality": "metrics.associations.askings.MODALITIES",
        "AssociationStudyKind": "metrics.associations.serializers.STUDY_KINDS",
    },
}
