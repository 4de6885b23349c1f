from __future__ import annotations

import unittest

from runledger import RunledgerError, operations
from runledger._core.settings import read_settings

SET = {"RUNLEDGER_URL": "http://127.0.0.1:8080/api", "RUNLEDGER_API_KEY": "rl_set"}


class TheSettings(unittest.TestCase):
    def test_are_the_arguments_before_the_environment(self) -> None:
        settings = read_settings("https://runs.example/run-api/", "rl_given", 5, 0, SET)
        self.assertEqual((settings.url, settings.api_key), ("https://runs.example/run-api", "rl_given"))
        settings = read_settings(None, None, 5, 0, SET)
        self.assertEqual((settings.url, settings.api_key), ("http://127.0.0.1:8080/api", "rl_set"))

    def test_have_the_usual_base_path_when_none_is_given(self) -> None:
        self.assertEqual(read_settings("http://[::1]:8080/", "rl_k", 5, 0, {}).url, "http://[::1]:8080/api")

    def test_that_are_missing_are_named(self) -> None:
        for name in SET:
            with self.assertRaisesRegex(RunledgerError, name):
                read_settings(None, None, 5, 0, {**SET, name: ""})

    def test_that_are_wrong_are_refused_without_the_key(self) -> None:
        for url in ("127.0.0.1:8080", "ftp://a/api", "http:///api", "http://a/api?x=1", "http://u:p@a/api", "http://[::1/api", "http://a:b/api"):
            with self.assertRaises(RunledgerError):
                read_settings(url, "rl_k", 5, 0, {})
        for key in ("rl_k\n", "rl k", "rl_ü"):
            with self.assertRaises(RunledgerError) as caught:
                read_settings("http://a/api", key, 5, 0, {})
            self.assertNotIn(key, str(caught.exception))
        for timeout, retries in ((0, 0), (float("nan"), 0), (5, -1)):
            with self.assertRaises(RunledgerError):
                read_settings("http://a/api", "rl_k", timeout, retries, {})

    def test_of_an_operation_name_something(self) -> None:
        for run_id in ("", ".", ".."):
            with self.assertRaisesRegex(ValueError, "run_id"):
                operations.get_run(run_id)
