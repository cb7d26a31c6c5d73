"""The tables of DESIGN §3. Each module may refer only to earlier ones in the order of the sections there."""

from annotation.models.answers import Box, Judgement, Response, Skip, SkipReason
from annotation.models.catalogue import (
    DIMENSIONS,
    Association,
    Attribute,
    Axis,
    IdentityGroup,
    Image,
    ImageSet,
    Region,
    Source,
)
from annotation.models.integrations import (
    ApiToken,
    CatalogueImport,
    Delivery,
    ExportJob,
    Scope,
    Webhook,
)
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
from annotation.models.studies import ConsentText, Intervals, Pool, Study, StudyStatus, Task, TaskKind
from annotation.models.units import Option, OptionRole, Purpose, Slot, SlotState, Unit
