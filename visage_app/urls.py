from django.contrib import admin
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.i18n import set_language

from visage_app import views
from visage_app.health import views as health
from visage_app.login.views import login, passwords, second_factor
from visage_app.observability import views as observability

urlpatterns = [
    path("", views.home, name="home"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", observability.metrics, name="metrics"),
    path("health/", health.page, name="health_page"),
    path("health/live/", health.live, name="health_live"),
    path("language/", login_not_required(set_language), name="set_language"),
    # No password reset by e-mail, since the program sends none. An admin creates a link for a new password.
    path("accounts/login/", login.LoginView.as_view(), name="login"),
    path("accounts/login/code/", login.login_code, name="login_code"),
    path("accounts/logout/", passwords.LogoutView.as_view(), name="logout"),
    path("accounts/password_change/", passwords.PasswordView.as_view(), name="password_change"),
    path(
        "accounts/password_change/done/", auth.PasswordChangeDoneView.as_view(), name="password_change_done"
    ),
    path("accounts/second-factor/", second_factor.page, name="second_factor"),
    path(
        "accounts/reset/<uidb64>/<token>/", passwords.NewPasswordView.as_view(), name="password_reset_confirm"
    ),
    # Before the admin site's own login, which would bypass the second factor.
    path("admin/login/", login.admin_login, name="admin_login"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("visage_app.urls_api")),
    path("", include("annotation.urls")),
    path("", include("generation.urls")),
    path("", include("metrics.urls")),
]
handler400 = "annotation.api.errors.bad_request"
handler500 = "annotation.api.errors.server_error"
