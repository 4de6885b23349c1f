import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call } from '../fixtures/requests/requests.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const partsOf = (html: string): string[] =>
  [...html.matchAll(/(?:src|href|spec-url)="([^"]+)"/g)].map(([, part]) => String(part));

describe('the reference page', () => {
  it('needs no key, and loads nothing from other hosts', async () => {
    const { status, headers, body } = await call(`${gateway.api}/docs`, null);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'; script-src 'self'");
    expect(policy).not.toContain('http');
    const parts = partsOf(body);
    expect(parts.length).toBeGreaterThanOrEqual(7);
    for (const part of parts) {
      expect(part).toMatch(/^\/(?:api\/|$)/);
      const answer = await call(`${gateway.url}${part}`, null);
      expect([part, answer.status]).toEqual([part, 200]);
      expect(answer.body.length ?? Object.keys(answer.body).length).toBeGreaterThan(0);
    }
  });

  it('is revalidated with its entity tag', async () => {
    const script = `${gateway.api}/docs/openapi-explorer.min.js`;
    const etag = String((await call(script, null)).headers.get('etag'));
    const again = await call(script, null, { headers: { 'if-none-match': etag } });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  it('shows the document with code samples, and sends what is tried to the host that the page is from', async () => {
    const { body } = await call(`${gateway.api}/docs/document.json`, null);
    const document = (await call(`${gateway.api}/openapi.json`, null)).body;
    expect(body.servers).toEqual([{ url: '/api' }]);
    const { 'x-code-samples': samples, ...getRun } = body.paths['/run/{run_id}'].get;
    const { security, ...operation } = document.paths['/run/{run_id}'].get;
    expect(security).toContainEqual({ session: [], sessionToken: [] });
    // The page sends no session.
    expect(JSON.stringify(body)).not.toMatch(/"session(?:Token)?":/);
    expect(Object.keys(body.components.securitySchemes)).toEqual(['apiKey', 'runToken', 'runTokenInQuery']);
    const shown = security.filter((one: object) => !('session' in one));
    expect(getRun).toEqual({ ...operation, security: shown });
    expect(samples[0].source).toContain(`curl ${gateway.api}/run/`);
  });
});

describe('the page at /', () => {
  it('needs no key and no script, allows its own style only, and leads on', async () => {
    const { status, headers, body } = await call(`${gateway.url}/`, null, {
      headers: { accept: 'text/html,*/*' },
    });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const style = /<style>(.*)<\/style>/s.exec(body)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers.get('content-security-policy')).toMatch(`default-src 'none'; style-src 'sha256-${hash}';`);
    expect(body).not.toMatch(/<script|style=| rl_/);
    expect(body).toContain(`curl '${gateway.api}/whoami'`);
    for (const part of partsOf(body)) {
      expect(part).toMatch(/^\/api\//);
      expect((await call(`${gateway.url}${part}`, null)).status).toBe(200);
    }
  });

  it('is JSON with the same links for a client that accepts no HTML', async () => {
    const { headers, body } = await call(`${gateway.url}/`, null, {
      headers: { accept: 'application/json' },
    });
    expect(headers.get('vary')).toContain('Accept');
    expect(body).toEqual({
      name: 'Runledger',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      api: gateway.api,
      reference: `${gateway.api}/docs`,
      openapi: `${gateway.api}/openapi.json`,
    });
  });

  it('is the only path beside the API: others are unknown', async () => {
    const { status, body } = await call(`${gateway.url}/index.html`, null);
    expect([status, body.code]).toEqual([404, 'path_unknown']);
    expect((await call(`${gateway.url}/`, null, { method: 'POST' })).status).toBe(405);
  });
});
