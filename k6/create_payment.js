// One idempotency key, many clients at once, a broken network: every client retries until it hears 200.
//
// `cargo xtask slo` runs this file once per round, behind Toxiproxy. By hand, against `cargo xtask dev`:
//   source .local/dev.env
//   .tools/k6-1.1.0/bin/k6 run -e BASE_URL=$BASE_URL -e KEY_ID=$KEY_ID -e SECRET=$SECRET k6/create_payment.js

import http from 'k6/http';
import { sleep } from 'k6';
import { Counter } from 'k6/metrics';

import { signedHeaders } from './http_signature.js';

const VUS = Number(__ENV.VUS || 10);
const BASE_URL = __ENV.BASE_URL || 'http://127.0.0.1:9000';

// With half of the connections cut, 40 attempts fail once in 10^12.
const MAX_ATTEMPTS = 40;
const ATTEMPT_TIMEOUT = '10s';
const BACKOFF_BASE_SECONDS = 0.02;
const BACKOFF_CAP_SECONDS = 0.5;

const attempts = new Counter('attempts');
const attemptsCut = new Counter('attempts_cut');
const final200 = new Counter('final_200');
const finalNon200 = new Counter('final_non_200');

export const options = {
  scenarios: {
    duplicates: { executor: 'per-vu-iterations', vus: VUS, iterations: 1, maxDuration: '2m' },
  },
  // The network's faults are drawn per connection: each attempt takes its chance anew.
  noConnectionReuse: true,
  thresholds: {
    final_200: [`count==${VUS}`],
    final_non_200: ['count==0'],
  },
};

// Runs once, so that all clients share the key.
export function setup() {
  return { key: __ENV.IDEMPOTENCY_KEY || `k6-${Date.now()}` };
}

export default function duplicate({ key }) {
  const answer = payUntilAnswered(key);
  (answer.status === 200 ? final200 : finalNon200).add(1);
  // One line per client, collected with --console-output: which payment was it told of?
  console.log(JSON.stringify({
    status: answer.status,
    payment_id: answer.status === 200 ? answer.json('payment_id') : null,
    replayed: answer.headers['Idempotent-Replayed'] === 'true',
  }));
}

function payUntilAnswered(key) {
  let answer = pay(key);
  for (let attempt = 1; attempt < MAX_ATTEMPTS && mayRetry(answer.status); attempt += 1) {
    sleep(backoff(attempt));
    answer = pay(key);
  }
  return answer;
}

// Every attempt is signed anew: same key, same body, fresh nonce and time.
function pay(key) {
  const path = '/api/v1/payments';
  const credentials = { keyId: __ENV.KEY_ID, secret: __ENV.SECRET };
  const headers = signedHeaders({ path, idempotencyKey: key, body: body(), ...credentials });
  const answer = http.post(`${BASE_URL}${path}`, body(), { headers, timeout: ATTEMPT_TIMEOUT });
  attempts.add(1);
  attemptsCut.add(answer.status === 0 ? 1 : 0);
  return answer;
}

// The same bytes on every attempt: it is one operation.
function body() {
  return JSON.stringify({
    amount: Number(__ENV.AMOUNT || 2500),
    recipient_id: __ENV.RECIPIENT_ID || '7f000001-0000-4000-8000-000000000001',
    account_id: __ENV.ACCOUNT_ID || undefined,
  });
}

// No answer (0), still running (409) and server errors leave the outcome open; the same key finds it out.
function mayRetry(status) {
  return status === 0 || status === 409 || status === 429 || status >= 500;
}

// Exponential with full jitter, so that the clients do not march in step.
function backoff(attempt) {
  return Math.random() * Math.min(BACKOFF_CAP_SECONDS, BACKOFF_BASE_SECONDS * 2 ** attempt);
}

export function handleSummary(data) {
  const count = (name) => data.metrics[name]?.values.count ?? 0;
  const figures = {
    attempts: count('attempts'),
    attempts_cut: count('attempts_cut'),
    final_200: count('final_200'),
    final_non_200: count('final_non_200'),
  };
  const shown = Object.entries(figures).map(([name, value]) => `${name}=${value}`).join('  ');
  const outputs = { stdout: `${shown}\n` };
  if (__ENV.SUMMARY_FILE) {
    outputs[__ENV.SUMMARY_FILE] = JSON.stringify(figures);
  }
  return outputs;
}
