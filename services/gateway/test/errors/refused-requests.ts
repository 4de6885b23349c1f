import { newUuid } from '@runledger/contracts/ids';
import { call } from '../fixtures/requests/requests.ts';
import { aRunToken } from '../runs/tokens/a-run-token.ts';
import { raw, send, type Provoke, type Scene } from './a-scene.ts';

const QUEUE = '/run/deployment/queue';

const sendBody = ({ gateway, tenant }: Scene, body: string, headers: Readonly<Record<string, string>> = {}) =>
  call(`${gateway.api}${QUEUE}`, tenant.key, {
    method: 'POST',
    body: new TextEncoder().encode(body),
    headers: { 'content-type': 'application/json', ...headers },
  });

/** Of each code of `request-codes.ts`, a request that is refused with it. */
export const REFUSED_REQUESTS = {
  malformed_request: ({ gateway }) => raw(gateway, 'nonsense'),
  body_incomplete: (scene) => sendBody(scene, '{}', { 'content-encoding': 'gzip' }),
  duplicate_member: (scene) =>
    sendBody({ ...scene, gateway: scene.strict }, '{"deployment_id":"a","deployment_id":"b"}'),
  credential_missing: ({ gateway }) => call(`${gateway.api}/runs`, null),
  credential_invalid: ({ gateway }) => call(`${gateway.api}/runs`, 'rl_unknown'),
  scope_missing: (scene) => send(scene, 'POST', QUEUE, { key: scene.reader, body: {} }),
  run_token_not_enough: async ({ gateway, tenant, run }) =>
    call(`${gateway.api}/runs`, await aRunToken(gateway, tenant.key, run)),
  run_token_of_another_run: async ({ gateway, tenant, run }) =>
    call(`${gateway.api}/run/${newUuid()}`, await aRunToken(gateway, tenant.key, run)),
  path_unknown: ({ gateway }) => call(`${gateway.api}/rnus`, null),
  method_not_allowed: ({ gateway }) => call(`${gateway.api}/runs`, null, { method: 'PUT' }),
  length_required: ({ gateway, tenant }) =>
    raw(
      gateway,
      `POST /api/files HTTP/1.1\nHost: x\nAuthorization: Bearer ${tenant.key}\nTransfer-Encoding: chunked`,
      '0\r\n\r\n',
    ),
  body_too_large: (scene) => sendBody(scene, `"${'x'.repeat(1_100_000)}"`),
  content_type_unsupported: (scene) => sendBody(scene, '{}', { 'content-type': 'text/plain' }),
  content_encoding_unsupported: (scene) => sendBody(scene, '{}', { 'content-encoding': 'zstd' }),
  range_not_satisfiable: async ({ gateway, tenant }) => {
    const file = await call(`${gateway.api}/files`, tenant.key, { method: 'POST', body: 'short' });
    const content = `${gateway.api}/files/${file.body.id}/content`;
    // The document does not have it, as no answer to a Range.
    const { status, headers, body } = await fetchJson(content, tenant.key, { range: 'bytes=100-' });
    return { status, headers, body };
  },
  expectation_failed: ({ gateway }) => raw(gateway, 'POST / HTTP/1.1\nHost: x\nExpect: wonders'),
  invalid_request: ({ gateway, tenant }) => call(`${gateway.api}/runs?stauts=failed`, tenant.key),
  headers_too_large: ({ gateway }) => raw(gateway, `GET / HTTP/1.1\nHost: x\nA: ${'x'.repeat(20_000)}`),
} as const satisfies Readonly<Record<string, Provoke>>;

const fetchJson = async (url: string, key: string, headers: Readonly<Record<string, string>>) => {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}`, ...headers } });
  const body: unknown = await response.json();
  return { status: response.status, headers: response.headers, body };
};
