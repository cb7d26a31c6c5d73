"""Everything that a lead, an admin or an annotator does on the pages can be done through the API.

The list of pages comes from the resolver, the list of addresses from the schema: a page that is added without
saying by which address a program does the same fails, and so does an address that is no more.
"""

from __future__ import annotations

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from annotation.accounts import confirmations
from tests.annotation.api.calls import documented

S = "studies/{name}"
NUMBERS = (f"GET {S}/scores", f"GET {S}/score-runs", f"GET {S}/figures/{{figure}}")
# Not a program's: for a reason that stands here.
IN_PERSON = "who somebody is, is shown in person: a program has a token, made on a page or by the command"
BY_CHOICE = "how pages are shown to one browser: language, asking again, drawing what moved"
WATCHED = "outside the API, for who watches servers: it needs no account's token"
TO_SEE = "for people to see what annotators see: it stores nothing, so a program has nothing to do there"
A_LINK = "where a person is led to: the link itself is what the API gives or takes"

# URL name -> addresses of the API by which the same is done, or why there is none
PAGES: dict[str, tuple[str, ...] | str] = {
    "home": ("GET studies", "GET own-studies"),
    "login": IN_PERSON,
    "login_code": IN_PERSON,
    "admin_login": IN_PERSON,
    "logout": IN_PERSON,
    "second_factor": IN_PERSON,
    "password_change": IN_PERSON,
    "password_change_done": IN_PERSON,
    "password_reset_confirm": A_LINK,
    # made they are in person (docs/api.md)
    "tokens": ("GET tokens",),
    "revoke_token": ("DELETE tokens/{number}", "DELETE account/token"),
    "set_language": BY_CHOICE,
    "healthz": WATCHED,
    "readyz": WATCHED,
    "metrics": WATCHED,
    "health_page": ("GET health",),
    "health_live": ("GET health",),
    # admins
    "accounts": ("GET accounts", "POST accounts"),
    "account": ("GET accounts/{who}",),
    "account_merge": ("GET accounts/{who}/merge", "POST accounts/{who}/merge"),
    "account_action": (
        "PATCH accounts/{who}",
        "PUT accounts/{who}/leads/{name}",
        "DELETE accounts/{who}/leads/{name}",
        "POST accounts/{who}/password-link",
        "DELETE accounts/{who}/second-factor",
        "POST accounts/{who}/block",
        "POST accounts/{who}/release",
        "GET accounts/{who}/erasure",
        "POST accounts/{who}/erasure",
    ),
    "audit": ("GET audit-events",),
    "audit_export": ("GET audit-events",),
    "exposure_all": ("GET hours",),
    "exposure_all_csv": ("GET hours",),
    "export_page": ("GET export-formats", f"GET {S}/exports"),
    "export_download": (f"GET {S}/export",),
    "export_annotations": (f"GET {S}/export", f"GET {S}/judgements"),
    "export_columns": ("GET export-formats", f"GET {S}/export"),
    "export_list": (f"GET {S}/exports", f"POST {S}/exports"),
    "export_file": (f"GET {S}/exports/{{number}}/file",),
    "export_action": (f"POST {S}/exports/{{number}}/retry", f"DELETE {S}/exports/{{number}}"),
    "release_page": (f"GET {S}/release-report", f"GET {S}/releases"),
    "release_download": (f"POST {S}/release",),
    # leads
    "setup": ("GET studies", "POST studies"),
    "setup_step": (f"PUT {S}/setup", f"GET {S}/feasibility", f"POST {S}/status"),
    "setup_gold": (f"PUT {S}/setup",),
    "setup_file": (f"GET {S}/setup.toml",),
    "setup_discard": (f"DELETE {S}/setup",),
    "people": (f"GET {S}/people",),
    "person_action": (
        f"GET {S}/people/{{number}}",
        f"POST {S}/people/{{number}}/block",
        f"POST {S}/people/{{number}}/unblock",
        f"POST {S}/people/{{number}}/release",
    ),
    "fill_rates": (f"GET {S}/feasibility",),
    "study_status": (f"POST {S}/status",),
    "invitations": (f"GET {S}/invitations", f"POST {S}/invitations"),
    "revoke_invitation": (f"DELETE {S}/invitations/{{number}}",),
    "webhooks": (f"GET {S}/webhooks", f"POST {S}/webhooks"),
    "webhook": (f"GET {S}/webhooks/{{number}}", f"GET {S}/webhooks/{{number}}/deliveries"),
    "webhook_action": (
        f"PATCH {S}/webhooks/{{number}}",
        f"DELETE {S}/webhooks/{{number}}",
        f"POST {S}/webhooks/{{number}}/secret",
        f"POST {S}/webhooks/{{number}}/ping",
    ),
    "webhook_redeliver": (f"POST {S}/webhooks/{{number}}/deliveries/{{delivery}}/redeliver",),
    "exposure": (f"GET {S}/hours",),
    "exposure_csv": (f"GET {S}/hours",),
    "methods": ("GET metrics", "GET metrics/{metric}"),
    "overview": (f"GET {S}/progress", f"GET {S}"),
    "overview_live": (f"GET {S}/progress",),
    "fresh_scores": (f"POST {S}/score-runs", f"GET {S}/score-runs/{{number}}"),
    "retry_scores": (f"POST {S}/score-runs/{{number}}/retry",),
    "identities": (f"GET {S}/identities",),
    "identity": (*NUMBERS, f"GET {S}/gallery"),
    "attributes": ("GET attributes", *NUMBERS),
    "attribute": NUMBERS,
    "gallery": (f"GET {S}/gallery", "GET images/{number}/file"),
    "league": (f"GET {S}/league", f"POST {S}/score-runs"),
    "league_csv": (f"GET {S}/league",),
    "compare": (*NUMBERS, f"POST {S}/score-runs"),
    "agreement": (f"GET {S}/agreement", *NUMBERS),
    "quality": (f"GET {S}/quality", f"GET {S}/agreement"),
    "quality_csv": (f"GET {S}/quality",),
    "judges": (f"GET {S}/judges",),
    "new_judge": (f"POST {S}/judges",),
    "plan_study": (f"GET {S}/plan",),
    "plan_figure": (f"GET {S}/plan/figure/{{file_format}}",),
    "plan_file": (f"GET {S}/plan",),
    "report": (f"GET {S}/score-runs",),
    "report_zip": (f"GET {S}/report",),
    "report_scores": (f"POST {S}/score-runs",),
    "judge": (f"GET {S}/judges/{{number}}",),
    "judge_figure": (f"GET {S}/judges/{{number}}",),
    "judge_items": (f"GET {S}/judges/{{number}}/items",),
    "judge_answers": (f"GET {S}/judges/{{number}}/answers",),
    "pull": (*NUMBERS, "GET runs"),
    "brightness": ("GET brightness-runs",),
    "new_brightness": ("POST brightness-runs",),
    "brightness_run": ("GET brightness-runs/{number}",),
    "brightness_figure": ("GET brightness-runs/{number}/figure/{file_format}",),
    "inference_runs": ("GET inference-runs",),
    "new_inference": ("POST inference-runs",),
    "inference": ("GET inference-runs/{number}", "GET inference-runs/{number}/pairs"),
    "inference_figure": ("GET inference-runs/{number}/figure/{file_format}",),
    "embedding_tests": ("GET embedding-test-files",),
    "new_embedding_tests": ("POST embedding-test-files",),
    "embedding_test_file": ("GET embedding-test-files/{number}/results",),
    "edit_embedding_tests": ("PUT embedding-test-files/{number}",),
    "delete_embedding_tests": ("DELETE embedding-test-files/{number}",),
    "embedding_test_download": ("GET embedding-test-files/{number}",),
    "embed_test_texts": ("POST embedding-test-files/{number}/texts",),
    "embedding_test_encoders": ("GET embedding-test-files/{number}/encoders",),
    "embedding_test_ranking": ("GET embedding-test-files/{number}/ranking",),
    "embedding_test_figure": ("GET embedding-test-files/{number}/figures/{figure}/{file_format}",),
    "visual_questions": ("GET visual-question-runs",),
    "new_visual_questions": ("POST visual-question-runs",),
    "visual_question_run": ("GET visual-question-runs/{number}",),
    "visual_question_figure": ("GET visual-question-runs/{number}/figure/{file_format}",),
    "marking": ("GET image-sets",),
    "marking_of_set": ("GET marking/{name}",),
    "marking_figure": ("GET marking/{name}/figure/{file_format}",),
    "figures": (f"GET {S}/figures",),
    "figure_page": (f"GET {S}/figures/{{figure}}",),
    "figure": (f"GET {S}/figures/{{figure}}/{{file_format}}",),
    "catalogue": ("GET associations",),
    "association": ("GET associations/{number}",),
    "catalogue_groups": ("GET identity-groups",),
    "catalogue_group": ("GET identity-groups/{number}", "GET associations"),
    "catalogue_attributes": ("GET attributes",),
    "catalogue_attribute": ("GET associations",),
    "sources": ("GET sources",),
    "source": ("GET sources/{name}", "PATCH sources/{name}"),
    "source_action": ("DELETE sources/{name}", "PUT sources/{name}/successor"),
    "new_source": ("POST sources/{name}/pairs",),
    "catalogue_imports": ("GET imports", "POST imports/seegull", "POST imports/visage"),
    "catalogue_import": ("GET imports/{number}",),
    "catalogue_import_progress": ("GET imports/{number}",),
    "catalogue_import_delete": ("DELETE imports/{number}",),
    "runs": ("GET runs",),
    "new_run": ("POST runs",),
    "run": ("GET runs/{number}",),
    "run_progress": ("GET runs/{number}",),
    "run_action": ("POST runs/{number}/{action}",),
    "candidate_runs": ("GET runs",),
    "plan_candidates": ("POST candidate-runs",),
    "plan_associations": ("POST association-runs",),
    "candidates": ("GET candidate-runs/{number}", "GET candidate-runs/{number}/candidates"),
    "candidate": ("GET candidate-runs/{number}/candidates/{candidate}",),
    "candidate_action": (
        "POST candidate-runs/{number}",
        "PUT candidate-runs/{number}/candidates/{candidate}/struck",
        "DELETE candidate-runs/{number}/candidates/{candidate}/struck",
        "POST candidate-runs/{number}/study",
    ),
    "association_runs": ("GET runs",),
    "model_associations": ("GET association-runs/{number}", "GET association-runs/{number}/pairs"),
    "association_descriptor": ("GET association-runs/{number}/pairs",),
    "model_association": ("GET association-runs/{number}/pairs/{pair}",),
    "association_action": ("POST association-runs/{number}", "POST association-runs/{number}/study"),
    "show_words": BY_CHOICE,
    "association_figures": ("GET association-runs/{number}/results",),
    "association_figure": ("GET association-runs/{number}/figures/{figure}/{file_format}",),
    "compare_associations": ("GET association-runs/comparison",),
    "new_judgements": (
        "POST association-runs/{number}/judgements/{what}",
        "POST association-runs/{number}/judgements/level",
    ),
    "save_votes": (f"POST {S}/votes-source",),
    "run_limits": ("PUT runs/{number}/limits",),
    "run_answers": ("GET runs/{number}/answers",),
    "run_answer": ("GET runs/{number}/answers/{job}",),
    "run_answer_text": ("GET runs/{number}/answers/{job}",),
    "run_answers_file": ("GET runs/{number}/answers",),
    "image_sets": ("GET image-sets",),
    "image_set": ("GET image-sets/{name}", "GET image-sets/{name}/images"),
    "image_history": ("GET images/{number}", "GET images/{number}/captions"),
    "image_file": ("GET images/{number}/file",),
    "thumbnail_file": ("GET images/{number}/file",),
    "upload": ("POST image-sets/{name}/bundle",),
    "study_images": ("POST image-sets/{name}/bundle", "POST sources/{name}/pairs", f"PUT {S}/setup"),
    # annotators
    "study": ("GET own-studies", f"GET {S}/part"),
    "consent": (f"GET {S}/consent", f"POST {S}/consent", f"DELETE {S}/consent"),
    "profile": ("GET own-profile", "PUT own-profile"),
    "study_profile": (f"GET {S}/profile", f"PUT {S}/profile"),
    "annotate": (f"POST {S}/next",),
    "work_items": (f"POST {S}/next",),
    "work_answers": (f"POST {S}/answers",),
    "work_skips": (f"POST {S}/skips",),
    "work_last": (f"GET {S}/answers",),
    "work_corrections": (f"POST {S}/corrections",),
    "work_token": BY_CHOICE,
    "stop": (f"POST {S}/part/stop",),
    "thanks": (f"GET {S}/part",),
    "withdraw": (f"POST {S}/part/withdraw", f"POST {S}/part/stop"),
    "come_back": (f"POST {S}/part/come-back",),
    "enter": A_LINK,
    "join": A_LINK,
    **dict.fromkeys(("try_study", "try_annotate", "try_end", "try_items", "try_answers"), TO_SEE),
    **dict.fromkeys(("try_skips", "try_corrections", "try_token"), TO_SEE),
    "demo_entry": IN_PERSON,
}
ACTIONS = {
    "make-admin": "PATCH accounts/{who}",
    "unmake-admin": "PATCH accounts/{who}",
    "let-set-up": "PATCH accounts/{who}",
    "unlet-set-up": "PATCH accounts/{who}",
    "switch-on": "PATCH accounts/{who}",
    "switch-off": "PATCH accounts/{who}",
    "lead": "PUT accounts/{who}/leads/{name}",
    "unlead": "DELETE accounts/{who}/leads/{name}",
    "password": "POST accounts/{who}/password-link",
    "remove-second-factor": "DELETE accounts/{who}/second-factor",
    "block": "POST accounts/{who}/block",
    "release": "POST accounts/{who}/release",
    "erase": "POST accounts/{who}/erasure",
}


def pages(patterns=None) -> set[str]:
    """The names of all URLs but those of the API and of Django's administration."""
    found = set()
    for one in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(one, URLResolver):
            found |= set() if one.namespace in {"api", "admin"} else pages(one.url_patterns)
        elif isinstance(one, URLPattern):
            found.add(str(one.name))
    return found


@pytest.fixture(scope="module")
def addresses() -> set[str]:
    paths = documented()["paths"]
    return {
        f"{method.upper()} {path.removeprefix('/api/v1/')}"
        for path, operations in paths.items()
        for method in operations
    }


def test_each_page_says_by_which_address_a_program_does_the_same():
    assert set(PAGES) == pages()


def test_every_address_that_stands_for_a_page_is_there(addresses):
    named = {one for of_page in PAGES.values() if not isinstance(of_page, str) for one in of_page}
    assert named <= addresses


def test_every_address_but_those_of_single_rows_stands_for_a_page(addresses):
    """What the API alone has is known: a row of a list by itself, and the study in parts."""
    named = {one for of_page in PAGES.values() if not isinstance(of_page, str) for one in of_page}
    assert addresses - named == {
        "GET account",
        f"GET {S}/exports/{{number}}",
        f"GET {S}/invitations/{{number}}",
        f"GET {S}/score-runs/{{number}}/scores",
        f"GET {S}/setup",
        f"GET {S}/tasks",
        f"GET {S}/tasks/{{number}}",
        f"GET {S}/units",
        f"GET {S}/units/{{number}}",
    }


def test_every_action_about_an_account_has_its_address():
    assert set(ACTIONS) == set(confirmations.ACTIONS)
    assert set(ACTIONS.values()) <= set(PAGES["account_action"])
