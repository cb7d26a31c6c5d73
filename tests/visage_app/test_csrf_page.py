from django.test import Client


def test_a_page_that_is_out_of_date_says_so_kindly(db):
    answer = Client(enforce_csrf_checks=True).post("/accounts/login/", {"username": "amal"})
    assert answer.status_code == 403
    assert "This page is out of date" in answer.content.decode()
    assert "DEBUG" not in answer.content.decode()
