#!/usr/bin/env bash
# Pays 2500 minor units with a signed request (RFC 9421, hmac-sha256), using nothing but openssl and curl.
# Needs BASE_URL, KEY_ID and SECRET (base64), for instance from .local/dev.env: set -a; . .local/dev.env; set +a
# Optional: RECIPIENT_ID, and IDEMPOTENCY_KEY to repeat a payment that may have happened already.
# openssl takes the secret as an argument, which other users of the same machine can see: for trying out, not for servers.
set -euo pipefail
: "${BASE_URL:?not set}" "${KEY_ID:?not set}" "${SECRET:?not set: set -a; . .local/dev.env; set +a}"

random_uuid() { openssl rand -hex 16 | sed -E 's/(.{8})(.{4})(.{4})(.{4})/\1-\2-\3-\4-/'; }

path=/api/v1/payments
key=${IDEMPOTENCY_KEY:-$(random_uuid)}
body="{\"amount\":2500,\"recipient_id\":\"${RECIPIENT_ID:-$(random_uuid)}\"}"
digest="sha-256=:$(printf %s "$body" | openssl dgst -sha256 -binary | openssl base64 -A):"

# A retry keeps the key and the body, but is signed again: `created` and the nonce must be fresh.
parameters='("@method" "@path" "content-type" "content-digest" "idempotency-key")'
parameters+=";created=$(date +%s);keyid=\"$KEY_ID\";alg=\"hmac-sha256\";nonce=\"$(openssl rand -hex 16)\""

# The signature base: one line for each covered component, then the parameters; no line break at the end.
base="\"@method\": POST
\"@path\": $path
\"content-type\": application/json
\"content-digest\": $digest
\"idempotency-key\": $key
\"@signature-params\": $parameters"

secret=$(printf %s "$SECRET" | openssl base64 -d -A | od -An -vtx1 | tr -d ' \n')
signature=$(printf %s "$base" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$secret" -binary | openssl base64 -A)

curl --silent --show-error --fail-with-body --max-time 30 --write-out '\n%{http_code}\n' "$BASE_URL$path" \
  --header "Content-Type: application/json" \
  --header "Content-Digest: $digest" \
  --header "Idempotency-Key: $key" \
  --header "Signature-Input: sig1=$parameters" \
  --header "Signature: sig1=:$signature:" \
  --data-binary "$body"
