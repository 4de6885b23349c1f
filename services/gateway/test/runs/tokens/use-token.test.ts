import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { createLogger } from '@runledger/service-kit/logger';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveKey } from '../../../src/records/keys/derive-key.ts';
import { authenticate, createApiKey, revokeApiKey } from '../../../src/records/keys/api-keys.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { aRunToken } from './a-run-token.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
let key: string;
const lines: string[] = [];

beforeAll(async () => {
  bed = await openTestBed();
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ service: 'gateway', level: 'debug', destination });
  const environment = { RUNLEDGER_CORS_ORIGINS: 'https://app.example' };
  gateway = await bed.gateway({ projecting: true, logger, environment });
  key = bed.tenant.key;
});
afterAll(() => bed[Symbol.asyncDispose]());

const endedRun = async (org_id = bed.tenant.org_id): Promise<RunKey> => {
  const run = aRun(org_id);
  await appendAll(bed.log, queued(run), assigned(run), started(run), succeeded(run));
  return run;
};
const ownedAs = (name: string) => ({ org_id: bed.tenant.org_id, user_id: bed.tenant.user_id, name });
const at = ({ run_id }: Pick<RunKey, 'run_id'>, path = ''): string => `${gateway.api}/run/${run_id}${path}`;
const read = async (url: string, token: string | null): Promise<number> => (await call(url, token)).status;

const READS = { read: '', events: '/events', logs: '/logs' } as const;

describe('a token of a run', () => {
  it('reads what its scopes say, in the header, and nothing that it was not given', async () => {
    const run = await endedRun();
    for (const scope of ['read', 'events', 'logs'] as const) {
      const token = await aRunToken(gateway, key, run, [scope]);
      for (const [other, path] of Object.entries(READS)) {
        const { status, body } = await call(at(run, path), token);
        const refused = status === 200 ? undefined : [status, body.detail];
        expect([scope, other, refused]).toEqual([
          scope,
          other,
          other === scope ? undefined : [403, `This token lacks the scope ${other}`],
        ]);
      }
    }
    const token = await aRunToken(gateway, key, run);
    expect(await read(at({ run_id: run.run_id.toUpperCase() as RunKey['run_id'] }), token)).toBe(200);
    expect(await read(at(run, '?include=inputs'), token)).toBe(403);
    expect(await read(at(run, '?include=inputs'), key)).toBe(200);
  });

  it('is worth nothing for another run, of this or another organisation', async () => {
    const [run, other, stranger] = [await endedRun(), await endedRun(), await bed.newTenant()];
    const token = await aRunToken(gateway, key, run);
    for (const named of [other, await endedRun(stranger.org_id)])
      for (const path of Object.values(READS)) {
        const { status, body } = await call(at(named, path), token);
        expect([path, status, body]).toEqual([
          path,
          403,
          aRefusal('run_token_of_another_run', 'This token is for another run'),
        ]);
      }
  });

  it('is refused by every other operation, and in the query of every operation that is no stream', async () => {
    const run = await endedRun();
    const token = await aRunToken(gateway, key, run);
    const { body: document } = await call(`${gateway.api}/openapi.json`, null);
    const answers: {
      name: string;
      token: number;
      tokenInQuery: number;
      keyInQuery: number;
      says: boolean;
    }[] = [];
    for (const [path, methods] of Object.entries<
      Readonly<Record<string, { readonly security?: readonly object[] }>>
    >(document.paths)) {
      const url = `${gateway.api}${path.replaceAll(/\{\w+\}/g, run.run_id)}`;
      for (const [name, described] of Object.entries(methods)) {
        // Whoever calls it may have nothing, so nothing is refused: it does not look at tokens.
        if (described.security?.some((needed) => Object.keys(needed).length === 0)) continue;
        const init = { method: name.toUpperCase() };
        answers.push({
          name: `${init.method} ${path}`,
          token: (await call(url, token, init)).status,
          tokenInQuery: (await call(`${url}?access_token=${token}`, null, init)).status,
          keyInQuery: (await call(`${url}?access_token=${key}`, null, init)).status,
          says: 'security' in described,
        });
      }
    }
    const [get, events, logs] = ['GET /run/{run_id}', 'GET /run/{run_id}/events', 'GET /run/{run_id}/logs'];
    const inHeader = new Set([get, events, logs]);
    const inQuery = new Set([events, logs]);
    expect(answers.length).toBeGreaterThan(50);
    expect(answers).toEqual(
      answers.map(({ name }) => ({
        name,
        token: inHeader.has(name) ? 200 : 403,
        tokenInQuery: inQuery.has(name) ? 200 : 401,
        keyInQuery: 401,
        says: inHeader.has(name),
      })),
    );
    expect(await read(at(run), key)).toBe(200);
  });

  it('does not act for an attempt, and is no API key of the same text', async () => {
    const run = await endedRun();
    const token = await aRunToken(gateway, key, run);
    const attempt = `${gateway.url}/executions/${run.org_id}/${run.run_id}/1`;
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${attempt}/assignment`, { headers })).status).toBe(401);
    // What a gateway remembers of the key of a token is not found by a text that somebody sends.
    const { body } = await call(`${gateway.api}/api-keys`, key);
    expect(await read(at(run), token)).toBe(200);
    expect(await read(at(run), `${run.org_id}.${body.api_keys[0].id}`)).toBe(401);
  });

  it('is refused when it was changed, or signed elsewhere', async () => {
    const run = await endedRun();
    const token = await aRunToken(gateway, key, run);
    const flipped = `${token.slice(0, -2)}${token.at(-2) === 'A' ? 'B' : 'A'}${token.at(-1)}`;
    const [claims = ''] = token.split('.');
    const more = Buffer.from(claims.slice(4), 'base64url')
      .toString()
      .replace(run.run_id, (await endedRun()).run_id);
    const forged = `rlt_${Buffer.from(more).toString('base64url')}.${token.split('.')[1]}`;
    for (const wrong of [flipped, forged, claims, `${claims}.`])
      expect([
        await read(at(run), wrong),
        await read(at(run, `/events?access_token=${wrong}`), null),
      ]).toEqual([401, 401]);
  });

  it('ends when the key that made it is revoked, or a key above it, or the run is deleted', async () => {
    const parent = await createApiKey(bed.log, ownedAs('parent'));
    const derived = await deriveKey(bed.log, parent.record, { name: 'child' }, new Date());
    if (derived.kind !== 'derived') throw new Error(derived.kind);
    const run = await endedRun();
    const tokens = [
      await aRunToken(gateway, parent.key, run),
      await aRunToken(gateway, derived.created.key, run),
    ];
    for (const token of tokens) expect(await read(at(run), token)).toBe(200);
    await revokeApiKey(bed.log, parent.key);
    expect(await authenticate(bed.log, derived.created.key)).toBeUndefined();
    for (const token of tokens)
      await waitFor('the token to be refused', async () => (await read(at(run), token)) === 401, {
        withinMs: 1_000,
      });

    const token = await aRunToken(gateway, key, run);
    await waitFor(
      'the deletion',
      async () => (await call(at(run), key, { method: 'DELETE' })).status === 200,
    );
    for (const path of Object.values(READS))
      expect([path, await read(at(run, path), token)]).toEqual([path, 404]);
  });

  it('stands in no log line, no error and no referrer', async () => {
    const run = await endedRun();
    const token = await aRunToken(gateway, key, run, ['logs']);
    lines.length = 0;
    const wrong = `${token.slice(0, -1)}_`;
    for (const path of [
      `/events?access_token=${token}`,
      `/logs?access_token=${token}&tail=x`,
      `/logs?access_token=${wrong}`,
      `?access_token=${token}`,
      `/nothing?access_token=${token}`,
    ]) {
      const { status, headers, body } = await call(at(run, path), null);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(JSON.stringify([body, ...headers])).not.toContain(token.slice(0, 60));
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
    await waitFor('the log lines', () => lines.filter((line) => line.includes('"answered"')).length >= 5);
    expect(lines.join('')).not.toContain(token.slice(4, 60));
  });

  it('is accepted from pages of the allowed origins', async () => {
    const run = await endedRun();
    const token = await aRunToken(gateway, key, run);
    const origin = (from: string, path: string) =>
      call(at(run, path), null, { headers: { origin: from, accept: 'text/event-stream' } });
    const { status, headers } = await origin('https://app.example', `/events?access_token=${token}`);
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example']);
    const refused = await origin('https://app.example', '/events?access_token=rlt_wrong');
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([
      401,
      'https://app.example',
    ]);
    const other = await origin('https://evil.example', `/events?access_token=${token}`);
    expect(other.headers.has('access-control-allow-origin')).toBe(false);
  });

  it('does not show more of a callback than a key that only reads', async () => {
    const admin = await createApiKey(bed.log, { ...ownedAs('admin'), scopes: ['admin'] });
    const run = aRun(bed.tenant.org_id);
    await appendAll(bed.log, queued(run, { webhook: 'https://receiver.example/secret-path?x=secret' }));
    const token = await aRunToken(gateway, admin.key, run, ['read']);
    expect((await call(at(run), admin.key)).body.webhook).toContain('secret-path');
    expect(JSON.stringify((await call(at(run), token)).body)).not.toContain('secret');
    expect((await post(at(run, '/cancel'), token)).status).toBe(403);
  });
});
