from __future__ import annotations

import base64
import hashlib
import hmac
import json
import unittest

from runledger import WebhookInvalid, verify_webhook

SECRET, FORMER, OTHER = ("whsec_" + base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2, 3))
BODY = json.dumps({"run_id": "run-1", "status": "success", "finished": True}).encode()
SENT_AT = 1_760_000_000


def signature(secret: str, body: bytes = BODY, sent_at: object = SENT_AT, message_id: str = "msg_1") -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{sent_at}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def headers(signatures: str, sent_at: object = SENT_AT) -> dict[str, str]:
    return {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(sent_at), "webhook-signature": signatures}


class ANotification(unittest.TestCase):
    def test_of_the_specification_is_accepted(self) -> None:
        # The example of Standard Webhooks, whose body is no notification.
        spec = {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        with self.assertRaisesRegex(WebhookInvalid, "is signed, and is no notification"):
            verify_webhook('{"test": 2432232314}', spec, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", now=1614265330)

    def test_is_given_when_one_of_the_secrets_signed_it(self) -> None:
        both = f"{signature(SECRET)} {signature(FORMER)} v1a,of-another-kind"
        for secrets in (SECRET, FORMER, [OTHER, SECRET], [FORMER, OTHER]):
            payload = verify_webhook(BODY, headers(both), secrets, now=SENT_AT + 299)
            self.assertEqual(payload["run_id"], "run-1")
        self.assertEqual(verify_webhook(BODY.decode(), headers(both), SECRET, now=SENT_AT)["status"], "success")

    def test_that_was_changed_is_refused(self) -> None:
        signed = signature(SECRET)
        changed = [
            (BODY + b" ", headers(signed)),
            (BODY, headers(signed, SENT_AT + 1)),
            (BODY, {**headers(signed), "Webhook-Id": "msg_2"}),
            (BODY, headers(signed[:-2] + "A=")),
            (BODY, headers(signed.removeprefix("v1,"))),
            (BODY, headers("v1,ünïcode")),
        ]
        for body, sent in changed:
            with self.assertRaisesRegex(WebhookInvalid, "None of the secrets"):
                verify_webhook(body, sent, [SECRET, FORMER], now=SENT_AT)

    def test_that_is_old_or_of_the_future_is_refused(self) -> None:
        for now in (SENT_AT + 301, SENT_AT - 301):
            with self.assertRaisesRegex(WebhookInvalid, "300 s ago or ahead"):
                verify_webhook(BODY, headers(signature(SECRET)), SECRET, now=now)
        verify_webhook(BODY, headers(signature(SECRET)), SECRET, now=SENT_AT + 900, tolerance_s=1_000)

    def test_without_its_headers_is_refused(self) -> None:
        for name in headers(""):
            sent = {each: value for each, value in headers(signature(SECRET)).items() if each != name}
            with self.assertRaisesRegex(WebhookInvalid, "is missing"):
                verify_webhook(BODY, sent, SECRET, now=SENT_AT)

    def test_whose_time_is_no_number_is_refused(self) -> None:
        for sent_at in ("-1", "1e9", "٣", "9" * 400):
            with self.assertRaises(WebhookInvalid):
                verify_webhook(BODY, headers(signature(SECRET, sent_at=sent_at), sent_at), SECRET, now=SENT_AT)

    def test_is_checked_with_secrets_only(self) -> None:
        for secret in ("", "whsec_", "secret", SECRET.removeprefix("whsec_"), "whsec_c2hvcnQ=", "whsec_ü"):
            with self.assertRaises(ValueError) as caught:
                verify_webhook(BODY, headers(signature(SECRET)), secret, now=SENT_AT)
            self.assertNotIsInstance(caught.exception, WebhookInvalid)
            if len(secret) > 6:
                self.assertNotIn(secret, str(caught.exception))
        with self.assertRaisesRegex(ValueError, "no secret"):
            verify_webhook(BODY, headers(signature(SECRET)), [], now=SENT_AT)
