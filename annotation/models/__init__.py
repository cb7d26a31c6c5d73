"""The tables of DESIGN §3. Each module may refer only to earlier ones in the order of the sections there."""

from annotation.models.answers import Box, Judgement, Response, Skip, SkipReason
from annotation.models.catalogue import Association, Attribute, Axis, IdentityGroup, Region, Source
from annotation.models.exports import ExportJob, ExportState
from annotation.models.images import Image, ImageSet
from annotation.models.integrations import ApiToken, Delivery, DeliveryState, Scope, Webhook
from annotation.models.people import (
    Annotator,
    AuditEvent,
    Consent,
    Enrolment,
    EnrolmentStatus,
    Invitation,
    ProfileAnswer,
    ProfileField,
)
from annotation.models.studies import ConsentText, Pool, Study, StudyStatus, Task, TaskKind
from annotation.models.units import Option, OptionRole, Purpose, Slot, SlotState, Unit

__all__ = [
    "Annotator",
    "ApiToken",
    "Association",
    "Attribute",
    "AuditEvent",
    "Axis",
    "Box",
    "Consent",
    "ConsentText",
    "Delivery",
    "DeliveryState",
    "Enrolment",
    "EnrolmentStatus",
    "ExportJob",
    "ExportState",
    "IdentityGroup",
    "Image",
    "ImageSet",
    "Invitation",
    "Judgement",
    "Option",
    "OptionRole",
    "Pool",
    "ProfileAnswer",
    "ProfileField",
    "Purpose",
    "Region",
    "Response",
    "Scope",
    "Skip",
    "SkipReason",
    "Slot",
    "SlotState",
    "Source",
    "Study",
    "StudyStatus",
    "Task",
    "TaskKind",
    "Unit",
    "Webhook",
]
