from django.urls import path

from generation.answers import views as answers
from generation.image_sets import views as image_sets
from generation.runs import views as runs
from generation.uploads import views as uploads

urlpatterns = [
    path("generation/", runs.run_list, name="runs"),
    path("generation/new/<slug:kind>/", runs.new_run, name="new_run"),
    path("generation/runs/<int:pk>/", runs.run, name="run"),
    path("generation/runs/<int:pk>/progress/", runs.run_progress, name="run_progress"),
    path("generation/runs/<int:pk>/limits/", runs.run_limits, name="run_limits"),
    path("generation/runs/<int:pk>/answers/", answers.answer_list, name="run_answers"),
    path("generation/runs/<int:pk>/answers/<int:job>/", answers.answer_page, name="run_answer"),
    path("generation/runs/<int:pk>/answers/<int:job>/text/", answers.answer_text, name="run_answer_text"),
    path("generation/runs/<int:pk>/answers.<slug:fmt>", answers.answer_download, name="run_answers_file"),
    path("generation/runs/<int:pk>/<slug:action>/", runs.run_action, name="run_action"),
    path("generation/sets/", image_sets.image_set_list, name="image_sets"),
    path("generation/sets/<slug:name>/", image_sets.image_set_gallery, name="image_set"),
    path("generation/images/<int:pk>/", image_sets.image_page, name="image_history"),
    path("generation/upload/", uploads.upload, name="upload"),
    path("setup/<slug:name>/images/upload/", uploads.study_images, name="study_images"),
]
