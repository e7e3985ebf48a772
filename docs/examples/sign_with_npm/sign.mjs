// Pays 2500 minor units with a signed request (RFC 9421, hmac-sha256), using npm's http-message-signatures.
// Run: npm install && npm start
// Needs BASE_URL, KEY_ID and SECRET (base64), for instance from .local/dev.env. Optional: RECIPIENT_ID, and
// IDEMPOTENCY_KEY to repeat a payment that may have happened already.
import { createHash, randomUUID } from "node:crypto";
import { createSigner, httpbis } from "http-message-signatures";

const { BASE_URL, KEY_ID, SECRET, RECIPIENT_ID, IDEMPOTENCY_KEY } = process.env;

const body = JSON.stringify({ amount: 2500, recipient_id: RECIPIENT_ID ?? randomUUID() });
const request = {
  method: "POST",
  url: `${BASE_URL}/api/v1/payments`,
  headers: {
    "Content-Type": "application/json",
    "Content-Digest": `sha-256=:${createHash("sha256").update(body).digest("base64")}:`,
    "Idempotency-Key": IDEMPOTENCY_KEY ?? randomUUID(),
  },
};

// A retry keeps the key and the body, but is signed again: `created` and the nonce must be fresh.
const { headers } = await httpbis.signMessage(
  {
    key: createSigner(Buffer.from(SECRET, "base64"), "hmac-sha256", KEY_ID),
    name: "sig1",
    fields: ["@method", "@path", "content-type", "content-digest", "idempotency-key"],
    params: ["created", "keyid", "alg", "nonce"],
    paramValues: { nonce: randomUUID() },
  },
  request,
);

const response = await fetch(request.url, { method: request.method, headers, body, signal: AbortSignal.timeout(30_000) });
console.log(await response.text());
console.log(response.status);
process.exitCode = response.ok ? 0 : 1;
