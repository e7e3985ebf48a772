// Signs a request as docs/api.md asks for: HTTP Message Signatures (RFC 9421) with hmac-sha256, Content-Digest (RFC 9530).
// Each call signs anew, with a fresh nonce and time: a retry is a new signature over the same idempotency key.

import crypto from 'k6/crypto';
import encoding from 'k6/encoding';

const COVERED = ['@method', '@path', 'content-type', 'content-digest', 'idempotency-key'];

// The headers of `POST path` with that JSON body, signed by the client that keyId names. The secret is base64.
export function signedHeaders({ path, idempotencyKey, body, keyId, secret }) {
  const digest = `sha-256=:${crypto.sha256(body, 'base64')}:`;
  const values = {
    '@method': 'POST',
    '@path': path,
    'content-type': 'application/json',
    'content-digest': digest,
    'idempotency-key': idempotencyKey,
  };
  const created = Math.floor(Date.now() / 1000);
  const nonce = encoding.b64encode(crypto.randomBytes(18), 'rawurl');
  const components = COVERED.map((name) => `"${name}"`).join(' ');
  const parameters = `(${components});created=${created};keyid="${keyId}";alg="hmac-sha256";nonce="${nonce}"`;
  const base = [
    ...COVERED.map((name) => `"${name}": ${values[name]}`),
    `"@signature-params": ${parameters}`,
  ].join('\n');
  const mac = crypto.hmac('sha256', encoding.b64decode(secret), base, 'base64');
  return {
    'Content-Type': values['content-type'],
    'Content-Digest': digest,
    'Idempotency-Key': idempotencyKey,
    'Signature-Input': `sig1=${parameters}`,
    Signature: `sig1=:${mac}:`,
  };
}
