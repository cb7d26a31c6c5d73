from django.urls import path

from metrics.agreement import views as agreement
from metrics.associations.views import pairs as associations
from metrics.associations.views import planning as association_plans
from metrics.associations.views import results as association_results
from metrics.brightness import views as brightness
from metrics.candidates import views as candidates
from metrics.comparisons import views as comparisons
from metrics.dashboards.views import figures, fresh_scores, overview
from metrics.depiction import views as depiction
from metrics.embedding_tests.views import results as embedding_test_results
from metrics.embedding_tests.views import storing as embedding_test_files
from metrics.inference import views as inference
from metrics.league import views as league
from metrics.machine_judges.views import items as judge_items
from metrics.machine_judges.views import judges as machine_judges
from metrics.machine_judges.views import results as judge_results
from metrics.marking import views as marking
from metrics.planning import views as planning
from metrics.pull import views as pull
from metrics.quality import views as quality
from metrics.report import views as report
from metrics.score_runs import views as score_runs
from metrics.visual_nature import views as visual_nature
from metrics.visual_questions import views as visual_questions
from metrics.votes import views as votes

_ASSOCIATIONS = "associations/<int:pk>/"
_CANDIDATES = "candidate-runs/<int:pk>/"
_EMBEDDING_TESTS = "embedding-tests/<int:pk>/"
_JUDGE = "studies/<slug:name>/judges/<int:number>/"

urlpatterns = [
    path("associations/new/", association_plans.plan_associations, name="plan_associations"),
    path("associations/", associations.association_runs, name="association_runs"),
    path("associations/words/", associations.show_words, name="show_words"),
    path(_ASSOCIATIONS, associations.associations, name="model_associations"),
    path(f"{_ASSOCIATIONS}descriptors/<int:group>/", associations.descriptor, name="association_descriptor"),
    path(f"{_ASSOCIATIONS}pairs/<int:pair>/", associations.association, name="model_association"),
    path("associations/compare/", association_results.compare_associations, name="compare_associations"),
    path(f"{_ASSOCIATIONS}figures/", association_results.association_figures, name="association_figures"),
    path(
        f"{_ASSOCIATIONS}figures/<slug:figure>.<slug:fmt>",
        association_results.association_figure_file,
        name="association_figure",
    ),
    path(
        f"{_ASSOCIATIONS}judgements/<slug:what>/new/",
        association_results.new_judgements,
        name="new_judgements",
    ),
    path(f"{_ASSOCIATIONS}<slug:action>/", associations.association_action, name="association_action"),
    path("brightness/", brightness.brightness_list, name="brightness"),
    path("brightness/new/", brightness.new_brightness, name="new_brightness"),
    path("brightness/<int:pk>/", brightness.brightness, name="brightness_run"),
    path(
        "brightness/<int:pk>/figure.<slug:fmt>", brightness.brightness_figure_file, name="brightness_figure"
    ),
    path("candidate-runs/", candidates.candidate_runs, name="candidate_runs"),
    path("candidate-runs/new/", candidates.plan_candidates, name="plan_candidates"),
    path(_CANDIDATES, candidates.candidates, name="candidates"),
    path(f"{_CANDIDATES}candidates/<int:candidate>/", candidates.candidate, name="candidate"),
    path(f"{_CANDIDATES}<slug:action>/", candidates.candidate_action, name="candidate_action"),
    path("league/", league.league, name="league"),
    path("league/table.csv", league.league_csv, name="league_csv"),
    path("methods/", score_runs.methods, name="methods"),
    path("inference/", inference.inference_list, name="inference_runs"),
    path("inference/new/", inference.new_inference, name="new_inference"),
    path("inference/<int:pk>/", inference.inference, name="inference"),
    path("inference/<int:pk>/figure.<slug:fmt>", inference.inference_figure_file, name="inference_figure"),
    path("embedding-tests/", embedding_test_results.embedding_tests, name="embedding_tests"),
    path("embedding-tests/new/", embedding_test_files.new_embedding_tests, name="new_embedding_tests"),
    path(_EMBEDDING_TESTS, embedding_test_results.embedding_test_file, name="embedding_test_file"),
    path(f"{_EMBEDDING_TESTS}edit/", embedding_test_files.edit_embedding_tests, name="edit_embedding_tests"),
    path(
        f"{_EMBEDDING_TESTS}delete/",
        embedding_test_files.delete_embedding_tests,
        name="delete_embedding_tests",
    ),
    path(
        f"{_EMBEDDING_TESTS}tests.<slug:fmt>",
        embedding_test_files.embedding_test_download,
        name="embedding_test_download",
    ),
    path(f"{_EMBEDDING_TESTS}texts/", embedding_test_results.embed_test_texts, name="embed_test_texts"),
    path(
        f"{_EMBEDDING_TESTS}encoders/",
        embedding_test_results.embedding_test_encoders,
        name="embedding_test_encoders",
    ),
    path(
        f"{_EMBEDDING_TESTS}ranking/",
        embedding_test_results.embedding_test_ranking,
        name="embedding_test_ranking",
    ),
    path(
        f"{_EMBEDDING_TESTS}figures/<slug:figure>.<slug:fmt>",
        embedding_test_results.embedding_test_figure,
        name="embedding_test_figure",
    ),
    path("visual-questions/", visual_questions.visual_questions, name="visual_questions"),
    path("visual-questions/new/", visual_questions.new_visual_questions, name="new_visual_questions"),
    path("visual-questions/<int:pk>/", visual_questions.visual_question_run, name="visual_question_run"),
    path(
        "visual-questions/<int:pk>/figure.<slug:fmt>",
        visual_questions.visual_question_figure,
        name="visual_question_figure",
    ),
    path("marking/", marking.marking, name="marking"),
    path("marking/<slug:name>/", marking.marking_of_set, name="marking_of_set"),
    path("marking/<slug:name>/figure.<slug:fmt>", marking.marking_figure_file, name="marking_figure"),
    path("studies/<slug:name>/overview/", overview.overview, name="overview"),
    path("studies/<slug:name>/overview/live/", overview.live, name="overview_live"),
    path("studies/<slug:name>/agreement/", agreement.agreement, name="agreement"),
    path("studies/<slug:name>/scores/fresh/", fresh_scores.fresh_scores, name="fresh_scores"),
    path("studies/<slug:name>/scores/<int:run_id>/retry/", score_runs.retry_scores, name="retry_scores"),
    path("studies/<slug:name>/identities/", depiction.identities, name="identities"),
    path("studies/<slug:name>/identities/<int:group_id>/", depiction.identity, name="identity"),
    path("studies/<slug:name>/votes/save/", votes.save_votes, name="save_votes"),
    path("studies/<slug:name>/attributes/", visual_nature.attributes, name="attributes"),
    path("studies/<slug:name>/attributes/<int:attribute_id>/", visual_nature.attribute, name="attribute"),
    path("studies/<slug:name>/gallery/", depiction.gallery, name="gallery"),
    path("studies/<slug:name>/compare/", comparisons.compare, name="compare"),
    path("studies/<slug:name>/quality/", quality.quality, name="quality"),
    path("studies/<slug:name>/quality/table.csv", quality.quality_csv, name="quality_csv"),
    path("studies/<slug:name>/judges/", machine_judges.judges, name="judges"),
    path("studies/<slug:name>/judges/new/", machine_judges.new_judge, name="new_judge"),
    path("studies/<slug:name>/plan/", planning.plan_study, name="plan_study"),
    path("studies/<slug:name>/plan/figure.<slug:fmt>", planning.plan_figure_file, name="plan_figure"),
    path("studies/<slug:name>/plan/plan.<slug:fmt>", planning.plan_file, name="plan_file"),
    path(f"{_JUDGE}items/", judge_items.judge_items, name="judge_items"),
    path(f"{_JUDGE}answers.csv", judge_items.judge_answers, name="judge_answers"),
    path("studies/<slug:name>/report/", report.report, name="report"),
    path("studies/<slug:name>/report/report.zip", report.report_zip, name="report_zip"),
    path("studies/<slug:name>/report/scores/", report.report_scores, name="report_scores"),
    path("studies/<slug:name>/pull/", pull.pull, name="pull"),
    path(_JUDGE, judge_results.judge, name="judge"),
    path(f"{_JUDGE}figures/<slug:figure>.<slug:fmt>", judge_results.judge_figure, name="judge_figure"),
    path("studies/<slug:name>/figures/", figures.figure_list, name="figures"),
    path("studies/<slug:name>/figures/<slug:figure>/", figures.figure_page, name="figure_page"),
    path("studies/<slug:name>/figures/<slug:figure>.<slug:fmt>", figures.figure_file, name="figure"),
]
