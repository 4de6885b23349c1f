import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aBrowser, aMember, anEmail, PASSWORD } from '../../fixtures/accounts/a-browser.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';

let bed: TestBed;
let gateway: TestGateway;
let other: TestGateway;
/** It believes what its clients say of their addresses, as behind a proxy. */
let trusting: TestGateway;
let org_id: string;
beforeAll(async () => {
  bed = await openTestBed();
  const environment = { RUNLEDGER_TRUSTED_PROXIES: 'loopback' };
  [gateway, other, trusting] = await Promise.all([
    bed.gateway(),
    bed.gateway(),
    bed.gateway({ environment }),
  ]);
  ({ org_id } = bed.tenant);
});
afterAll(() => bed[Symbol.asyncDispose]());

describe('POST /session', () => {
  it('gives a cookie that no script reads and no other site gets, and a token beside it, and says who is signed in', async () => {
    const person = await aMember(bed.log, org_id, 'developer', { hasPassword: true });
    const browser = aBrowser(gateway.api);
    const { status, body, headers } = await browser.send('POST', '/session', {
      email: person.email.toUpperCase(),
      password: PASSWORD,
    });
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^runledger_session=[\w-]{43}; Path=\/; Expires=[^;]+ GMT; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    expect(headers.get('runledger-session')).toMatch(/^[\w-]{43}$/);
    expect(body).toEqual({
      user: { id: person.id, email: person.email, name: 'Ada' },
      organisations: [{ id: org_id, name: 'acme', role: 'developer', operator: false }],
      organisation: { id: org_id, name: 'acme', role: 'developer', operator: false, scopes: ['runs:write'] },
      has_password: true,
      has_identity: false,
      needs_current_password: true,
      expires_at: expect.stringMatching(/Z$/),
      sign_in: ['password'],
      provider: null,
    });
    expect(Date.parse(body.expires_at) - Date.now()).toBeGreaterThan(6.9 * 24 * 3_600_000);
    expect((await browser.send('GET', '/session')).body).toEqual(body);
  });

  it('sends the cookie over https only, where clients know the server by https', async () => {
    const secure = await bed.gateway({ environment: { RUNLEDGER_PUBLIC_URL: 'https://runs.example.com' } });
    const person = await aMember(bed.log, org_id, 'viewer', { hasPassword: true });
    const browser = aBrowser(secure.api);
    const { headers } = await browser.send('POST', '/session', { email: person.email, password: PASSWORD });
    expect(headers.getSetCookie()[0]).toMatch(
      /^__Host-runledger_session=[\w-]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict; Secure$/,
    );
    const { headers: left } = await browser.send('DELETE', '/session');
    expect(left.getSetCookie()[0]).toMatch(/^__Host-runledger_session=; Path=\/; Expires=Thu, 01 Jan 1970 /);
  });

  it('answers an unknown e-mail and a wrong password with the same words', async () => {
    const person = await aMember(bed.log, org_id, 'viewer', { hasPassword: true });
    const browser = aBrowser(gateway.api);
    const wrong = await browser.send('POST', '/session', { email: person.email, password: 'wrong' });
    const unknown = await browser.send('POST', '/session', { email: anEmail(), password: 'wrong' });
    for (const { status, body, headers } of [wrong, unknown]) {
      expect([status, body.code]).toEqual([401, 'sign_in_refused']);
      expect(headers.getSetCookie()).toEqual([]);
    }
    expect(wrong.body.detail).toBe(unknown.body.detail);
  });

  it('lets nobody guess on after five wrong passwords, at another gateway neither', async () => {
    const person = await aMember(bed.log, org_id, 'viewer', { hasPassword: true });
    const guess = (api: string, password: string) =>
      aBrowser(api).send('POST', '/session', { email: person.email, password });
    for (const api of [gateway.api, other.api, gateway.api, other.api, gateway.api])
      expect((await guess(api, 'wrong')).status).toBe(401);
    // On a slow machine one of them is forgotten meanwhile.
    await guess(other.api, 'wrong');
    const limited = await guess(other.api, PASSWORD);
    expect([limited.status, limited.body.code]).toEqual([429, 'sign_in_limited']);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('lets nobody outrun the count with guesses at the same time', async () => {
    const person = await aMember(bed.log, org_id, 'viewer', { hasPassword: true });
    const address = { 'x-forwarded-for': '203.0.113.7' };
    const guesses = await Promise.all(
      Array.from({ length: 30 }, () =>
        aBrowser(trusting.api).send('POST', '/session', { email: person.email, password: 'wrong' }, address),
      ),
    );
    const tried = guesses.filter(({ status }) => status === 401);
    expect(tried.length).toBeGreaterThanOrEqual(5);
    expect(tried.length).toBeLessThanOrEqual(6);
    expect(guesses.every(({ status }) => status === 401 || status === 429)).toBe(true);
  });

  it('makes nobody wait behind the right passwords of others at the same address', async () => {
    const people = await Promise.all(
      Array.from({ length: 21 }, () => aMember(bed.log, org_id, 'viewer', { hasPassword: true })),
    );
    const address = { 'x-forwarded-for': '203.0.113.8' };
    const answers = await Promise.all(
      people.map(({ email }) =>
        aBrowser(trusting.api).send('POST', '/session', { email, password: PASSWORD }, address),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(people.map(() => 200));
  });
});
