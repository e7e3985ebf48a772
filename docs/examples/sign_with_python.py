"""Pays 2500 minor units with a signed request (RFC 9421, hmac-sha256), using PyPI's http-message-signatures.

Run: pip install http-message-signatures==3.0.0 requests && python sign_with_python.py
Needs BASE_URL, KEY_ID and SECRET (base64), for instance from .local/dev.env. Optional: RECIPIENT_ID, and
IDEMPOTENCY_KEY to repeat a payment that may have happened already.
"""

import base64
import json
import os
import sys
import uuid

import requests
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver, algorithms

key_id = os.environ["KEY_ID"]
secret = base64.b64decode(os.environ["SECRET"])
recipient_id = os.environ.get("RECIPIENT_ID") or str(uuid.uuid4())

request = requests.Request(
    "POST",
    f"{os.environ['BASE_URL']}/api/v1/payments",
    data=json.dumps({"amount": 2500, "recipient_id": recipient_id}).encode(),
    headers={
        "Content-Type": "application/json",
        "Idempotency-Key": os.environ.get("IDEMPOTENCY_KEY") or str(uuid.uuid4()),
    },
).prepare()

# A retry keeps the key and the body, but is signed again: `created` and the nonce must be fresh.
# Given the body, the library adds Content-Digest and covers it.
signer = HTTPMessageSigner(
    signature_algorithm=algorithms.HMAC_SHA256,
    key_resolver=MappingKeyResolver(public_keys={}, private_keys={key_id: secret}),
)
signer.sign(
    request,
    key_id=key_id,
    nonce=uuid.uuid4().hex,
    label="sig1",
    covered_component_ids=("@method", "@path", "content-type", "idempotency-key"),
    body=request.body,
)

response = requests.Session().send(request, timeout=30)
print(response.text)
print(response.status_code)
sys.exit(0 if response.ok else 1)
