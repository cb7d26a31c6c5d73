"""Addresses of the API, below /api/v1/."""

from django.urls import path

from annotation.accounts.api import accounts, me, merging
from annotation.annotate import api as annotate_api
from annotation.audit import api as audit_api
from annotation.catalogue import api as catalogue_api
from annotation.exports.api import exports, jobs
from annotation.imports.api import pairs as pairs_api
from annotation.imports.api import uploads as uploads_api
from annotation.participation.api import own_studies, people, profile
from annotation.releases import api as releases_api
from annotation.setup import api as setup_api
from annotation.studies import api as studies_api
from annotation.webhooks import api as webhooks_api

STUDY = "studies/<slug:name>"
WEBHOOK = f"{STUDY}/webhooks/<int:number>"
PERSON = f"{STUDY}/people/<int:number>"
EXPORT = f"{STUDY}/exports/<int:number>"
ACCOUNT = "accounts/<slug:who>"
SOURCE = "sources/<slug:name>"

urlpatterns = [
    path("account", me.Account.as_view(), name="account"),
    path("account/token", me.TokenInUse.as_view(), name="token_in_use"),
    path("accounts", accounts.Accounts.as_view(), name="accounts"),
    path(ACCOUNT, accounts.OneAccount.as_view(), name="account_of"),
    path(f"{ACCOUNT}/leads/<slug:name>", accounts.StudyLead.as_view(), name="account_leads"),
    path(f"{ACCOUNT}/password-link", accounts.PasswordLink.as_view(), name="account_password_link"),
    path(f"{ACCOUNT}/second-factor", accounts.SecondFactor.as_view(), name="account_second_factor"),
    path(f"{ACCOUNT}/block", accounts.BlockEverywhere.as_view(), name="account_block"),
    path(f"{ACCOUNT}/release", accounts.ReleaseEverywhere.as_view(), name="account_release"),
    path(f"{ACCOUNT}/merge", merging.Merge.as_view(), name="account_merge"),
    path(f"{ACCOUNT}/erasure", merging.Erasure.as_view(), name="account_erasure"),
    path("tokens", me.OwnTokens.as_view(), name="own_tokens"),
    path("tokens/<int:number>", me.OneOwnToken.as_view(), name="own_token"),
    path("audit-events", audit_api.AuditEvents.as_view(), name="audit_events"),
    path("identity-groups", catalogue_api.IdentityGroups.as_view(), name="identity_groups"),
    path("identity-groups/<int:number>", catalogue_api.OneIdentityGroup.as_view(), name="identity_group"),
    path("attributes", catalogue_api.Attributes.as_view(), name="attributes"),
    path("associations", catalogue_api.Associations.as_view(), name="associations"),
    path("associations/<int:number>", catalogue_api.OneAssociation.as_view(), name="association"),
    path("sources", catalogue_api.Sources.as_view(), name="sources"),
    path(SOURCE, catalogue_api.OneSource.as_view(), name="source"),
    path(f"{SOURCE}/pairs", pairs_api.SourcePairs.as_view(), name="source_pairs"),
    path(f"{SOURCE}/successor", catalogue_api.Successor.as_view(), name="source_successor"),
    path("imports", uploads_api.Imports.as_view(), name="imports"),
    path("imports/seegull", uploads_api.SeegullUpload.as_view(), name="import_seegull"),
    path("imports/visage", uploads_api.VisageUpload.as_view(), name="import_visage"),
    path("imports/<int:number>", uploads_api.OneImport.as_view(), name="import"),
    path("export-formats", exports.Formats.as_view(), name="export_formats"),
    path("own-studies", own_studies.OwnStudies.as_view(), name="own_studies"),
    path("studies", setup_api.Studies.as_view(), name="studies"),
    path(STUDY, studies_api.OneStudy.as_view(), name="study"),
    path(f"{STUDY}/status", setup_api.StudyState.as_view(), name="study_status"),
    path(f"{STUDY}/feasibility", studies_api.Feasibility.as_view(), name="feasibility"),
    path(f"{STUDY}/setup", setup_api.Setup.as_view(), name="setup"),
    path(f"{STUDY}/setup.toml", setup_api.SetupFile.as_view(), name="setup_file"),
    path(f"{STUDY}/tasks", studies_api.Tasks.as_view(), name="tasks"),
    path(f"{STUDY}/tasks/<int:number>", studies_api.OneTask.as_view(), name="task"),
    path(f"{STUDY}/units", studies_api.Units.as_view(), name="units"),
    path(f"{STUDY}/units/<int:number>", studies_api.OneUnit.as_view(), name="unit"),
    path(f"{STUDY}/people", people.People.as_view(), name="people"),
    path(PERSON, people.OnePerson.as_view(), name="person"),
    path(f"{PERSON}/block", people.Block.as_view(), name="block"),
    path(f"{PERSON}/unblock", people.Unblock.as_view(), name="unblock"),
    path(f"{PERSON}/release", people.Release.as_view(), name="release"),
    path(f"{STUDY}/invitations", people.Invitations.as_view(), name="invitations"),
    path(f"{STUDY}/invitations/<int:number>", people.OneInvitation.as_view(), name="invitation"),
    path(f"{STUDY}/export", exports.Download.as_view(), name="export"),
    path(f"{STUDY}/exports", jobs.Exports.as_view(), name="exports"),
    path(EXPORT, jobs.OneExport.as_view(), name="export_job"),
    path(f"{EXPORT}/retry", jobs.Retry.as_view(), name="export_retry"),
    path(f"{EXPORT}/file", jobs.ExportFile.as_view(), name="export_file"),
    path(f"{STUDY}/judgements", exports.Judgements.as_view(), name="judgements"),
    path(f"{STUDY}/releases", releases_api.Releases.as_view(), name="releases"),
    path(f"{STUDY}/release-report", releases_api.Report.as_view(), name="release_report"),
    path(f"{STUDY}/release", releases_api.Release.as_view(), name="release_bundle"),
    path("own-profile", profile.OwnProfile.as_view(), name="own_profile"),
    path(f"{STUDY}/profile", profile.StudyProfile.as_view(), name="study_profile"),
    path(f"{STUDY}/part", own_studies.OwnEnrolment.as_view(), name="own_part"),
    path(f"{STUDY}/part/stop", own_studies.Stop.as_view(), name="own_part_stop"),
    path(f"{STUDY}/part/come-back", own_studies.ComeBack.as_view(), name="own_part_come_back"),
    path(f"{STUDY}/part/withdraw", own_studies.Withdraw.as_view(), name="own_part_withdraw"),
    path(f"{STUDY}/consent", own_studies.ConsentView.as_view(), name="consent"),
    path(f"{STUDY}/next", annotate_api.Next.as_view(), name="next"),
    path(f"{STUDY}/answers", annotate_api.Answers.as_view(), name="answers"),
    path(f"{STUDY}/corrections", annotate_api.Corrections.as_view(), name="corrections"),
    path(f"{STUDY}/skips", annotate_api.Skips.as_view(), name="skips"),
    path("hours", audit_api.AllHours.as_view(), name="all_hours"),
    path(f"{STUDY}/hours", audit_api.StudyHours.as_view(), name="hours"),
    path(f"{STUDY}/webhooks", webhooks_api.Webhooks.as_view(), name="webhooks"),
    path(WEBHOOK, webhooks_api.OneWebhook.as_view(), name="webhook"),
    path(f"{WEBHOOK}/secret", webhooks_api.Secret.as_view(), name="webhook_secret"),
    path(f"{WEBHOOK}/ping", webhooks_api.Ping.as_view(), name="webhook_ping"),
    path(f"{WEBHOOK}/deliveries", webhooks_api.Deliveries.as_view(), name="webhook_deliveries"),
    path(
        f"{WEBHOOK}/deliveries/<int:delivery>/redeliver",
        webhooks_api.Redelivery.as_view(),
        name="webhook_redeliver",
    ),
]
