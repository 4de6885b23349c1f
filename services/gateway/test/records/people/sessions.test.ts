import type { Role, KeyScope } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allows } from '@runledger/contracts/scopes';
import { describedOperations } from '../../../src/door/operation.ts';
import {
  aBrowser,
  accountsOf,
  aMember,
  sentOf,
  signedIn,
  type Browser,
} from '../../fixtures/accounts/a-browser.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { waitFor } from '@runledger/testing/wait-for';

let bed: TestBed;
let gateway: TestGateway;
let other: TestGateway;
let org_id: string;
beforeAll(async () => {
  bed = await openTestBed();
  [gateway, other] = await Promise.all([bed.gateway(), bed.gateway()]);
  ({ org_id } = bed.tenant);
});
afterAll(() => bed[Symbol.asyncDispose]());

const asRole = async (role: Role, operator = false): Promise<Browser> =>
  signedIn(gateway, await aMember(bed.log, org_id, role, { operator }));

describe('a session', () => {
  it('permits exactly the operations of its role', async () => {
    const scoped = describedOperations().filter(({ scope }) => scope !== 'none');
    expect(scoped.length).toBeGreaterThan(50);
    const roles: [Role, boolean, KeyScope[]][] = [
      ['viewer', false, ['runs:read']],
      ['developer', false, ['runs:write']],
      ['owner', false, ['admin']],
      ['viewer', true, ['runs:read', 'operator']],
    ];
    for (const [role, operator, scopes] of roles) {
      const browser = await asRole(role, operator);
      await Promise.all(
        scoped.map(async ({ id, method, path, scope, orScope = scope }) => {
          const at = path.replaceAll(/\{\w+\}/g, () => newUuid());
          // Nothing is done: the id is unknown, or the body is missing or of another type.
          const headers = { 'content-type': 'text/plain' };
          const { status, text } = await fetchText(browser, method, at, headers);
          const permitted = [scope, orScope].some((one) => one !== 'none' && allows(scopes, one));
          const isRefused = status === 403 && text.includes('Your role in this organisation lacks');
          expect([role, id, isRefused]).toEqual([role, id, !permitted]);
          expect([id, status]).not.toEqual([id, 401]);
        }),
      );
    }
  });

  it('acts in its organisation, and finds nothing of another', async () => {
    const stranger = await bed.newTenant();
    const run = await queueSample(gateway, stranger);
    const owner = await asRole('owner');
    const { body } = await owner.send('GET', '/whoami');
    expect([body.organisation.id, body.key.name]).toEqual([org_id, 'session']);
    expect((await owner.send('GET', `/run/${run.run_id}`)).status).toBe(404);
    expect((await owner.send('PATCH', '/session', { organisation_id: stranger.org_id })).body.code).toBe(
      'organisation_not_found',
    );
    const member = await aMember(bed.log, stranger.org_id, 'viewer');
    expect((await owner.send('DELETE', `/members/${member.id}`)).body.code).toBe('member_not_found');
    expect((await owner.send('POST', '/accounts/links', { email: member.email })).status).toBe(403);
    const operator = await asRole('owner', true);
    expect((await operator.send('POST', '/accounts/links', { email: member.email })).body.code).toBe(
      'member_not_found',
    );
  });

  it('acts in another organisation of the person once it is chosen', async () => {
    const second = await bed.newTenant();
    const { email, id } = await aMember(bed.log, org_id, 'owner');
    await aMember(bed.log, second.org_id, 'viewer', { email });
    const browser = await signedIn(gateway, { id });
    const { body } = await browser.send('PATCH', '/session', {
      organisation_id: second.org_id.toUpperCase(),
    });
    expect([body.organisation.id, body.organisation.scopes]).toEqual([second.org_id, ['runs:read']]);
    await waitFor('it to act there', async () => {
      const whoami = await browser.send('GET', '/whoami');
      return whoami.body.organisation.id === second.org_id && whoami.body.user.id === id;
    });
  });

  it('ends at every gateway within a second', async () => {
    const browser = await asRole('viewer');
    const elsewhere = aBrowser(other.api, browser.session());
    expect((await elsewhere.send('GET', '/whoami')).status).toBe(200);
    expect((await browser.send('DELETE', '/session')).status).toBe(204);
    expect(browser.session().cookie).toBeUndefined();
    const since = performance.now();
    await waitFor('it to end', async () => (await elsewhere.send('GET', '/whoami')).status === 401);
    expect(performance.now() - since).toBeLessThan(1_000);
    expect((await elsewhere.send('GET', '/whoami')).body.code).toBe('not_signed_in');
    expect((await elsewhere.send('GET', '/session')).body.user).toBeNull();
  });

  it('ends by itself', async () => {
    const person = await aMember(bed.log, org_id, 'viewer');
    const inEightDays = () => new Date(Date.now() + 8 * 24 * 3_600_000);
    const { text } = await accountsOf(bed.log).sessions.begin(person.id, org_id, 'password');
    expect(await accountsOf(bed.log).sessions.find(text)).toBeDefined();
    expect(await accountsOf(bed.log, inEightDays).sessions.find(text)).toBeUndefined();
    expect(await accountsOf(bed.log, inEightDays).callers.find(text)).toBeUndefined();
  });

  it('leaves a person twenty sessions', async () => {
    const { id } = await aMember(bed.log, org_id, 'viewer');
    const { sessions } = accountsOf(bed.log);
    const begun = [];
    for (let count = 0; count < 21; count += 1) begun.push(await sessions.begin(id, org_id, 'password'));
    const found = await Promise.all(begun.map(({ text }) => sessions.find(text)));
    expect(found.map((session) => session !== undefined)).toEqual([false, ...Array(20).fill(true)]);
  });

  it('counts after an API key, and never beside one that is refused', async () => {
    const browser = await asRole('owner');
    const key = await aKey(bed.log, await bed.newTenant(), { scopes: ['runs:read'] });
    const bearer = { authorization: `Bearer ${key}` };
    expect((await browser.send('GET', '/members', undefined, bearer)).status).toBe(403);
    const unknown = { authorization: 'Bearer rl_unknown_unknown_unknown' };
    expect((await browser.send('GET', '/members', undefined, unknown)).status).toBe(401);
    expect((await browser.send('GET', '/members', undefined, { authorization: 'Basic eA==' })).status).toBe(
      401,
    );
  });

  it('makes keys of the person, and ends streams of the person, as its role permits', async () => {
    const person = await aMember(bed.log, org_id, 'developer');
    const browser = await signedIn(gateway, person);
    expect((await browser.send('POST', '/api-keys', { name: 'a', scopes: ['admin'] })).status).toBe(403);
    const made = await browser.send('POST', '/api-keys', { name: 'a' });
    expect([made.status, made.body.parent_key_id, made.body.user_id]).toEqual([201, null, person.id]);
    expect(made.body.expires_at).toBeNull();
    expect((await call(`${gateway.api}/whoami`, made.body.key)).body.user).toEqual({
      id: person.id,
      name: 'Ada',
    });
    const run = await queueSample(gateway, bed.tenant);
    const token = await browser.send('POST', `/run/${run.run_id}/tokens`, { scopes: ['read'] });
    expect([token.status, token.body.code]).toEqual([403, 'api_key_needed']);

    const stream = await fetch(gateway.eventsOf(run), { headers: sentOf(browser.session()) });
    expect(stream.status).toBe(200);
    await accountsOf(bed.log).memberships.remove(org_id, person.id);
    expect(await stream.text()).toContain('event:');
    await waitFor('the key to be refused', async () => {
      const { status } = await call(`${gateway.api}/whoami`, made.body.key);
      return status === 401;
    });
  });
});

/** Of operations that answer with something else than JSON, too. */
const fetchText = async (
  browser: Browser,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string }> => {
  const init = { method, headers: { ...headers, ...sentOf(browser.session()) } };
  const response = await fetch(`${gateway.api}${path}`, init);
  return { status: response.status, text: await response.text() };
};
