import { openBucket } from '@runledger/event-log/streams/bucket';
import { waitFor } from '@runledger/testing/wait-for';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountsOf, aMember, anEmail, signedIn } from '../../fixtures/accounts/a-browser.ts';
import { anOrganisation, codeOf, invite } from '../../fixtures/accounts/an-organisation.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

describe('members', () => {
  it('are listed, changed and removed by an owner', async () => {
    const { org_id, owner } = await anOrganisation(bed, gateway);
    const { id } = await aMember(bed.log, org_id, 'viewer');
    const { members } = (await owner.send('GET', '/members')).body;
    expect(members.map((member: { role: string }) => member.role)).toEqual(['owner', 'viewer']);
    const changed = await owner.send('PATCH', `/members/${id}`, { role: 'developer' });
    expect([changed.status, changed.body]).toEqual([200, { ...members[1], role: 'developer' }]);
    expect((await owner.send('DELETE', `/members/${id}`)).status).toBe(204);
    expect(await codeOf(owner.send('DELETE', `/members/${id}`))).toEqual([404, 'member_not_found']);
    expect((await owner.send('GET', '/members')).body.members).toHaveLength(1);
  });

  it('include an owner, also when two owners remove each other at once', async () => {
    const { org_id, owner, owner_id } = await anOrganisation(bed, gateway);
    const last = [409, 'last_owner'];
    expect(await codeOf(owner.send('DELETE', `/members/${owner_id}`))).toEqual(last);
    expect(await codeOf(owner.send('PATCH', `/members/${owner_id}`, { role: 'viewer' }))).toEqual(last);
    const other = await aMember(bed.log, org_id, 'owner');
    const { memberships } = accountsOf(bed.log);
    const results = await Promise.all([
      memberships.remove(org_id, owner_id),
      memberships.change(org_id, other.id, { role: 'viewer' }),
    ]);
    expect(results.filter(({ kind }) => kind === 'last_owner')).toHaveLength(1);
    expect((await memberships.list(org_id)).filter(({ role }) => role === 'owner')).toHaveLength(1);
  });

  it('become operators by an operator only', async () => {
    const { org_id, owner, ...tenant } = await anOrganisation(bed, gateway);
    const { id } = await aMember(bed.log, org_id, 'viewer');
    const path = `/members/${id}`;
    expect(await codeOf(owner.send('PATCH', path, { operator: true }))).toEqual([403, 'scope_missing']);
    const key = await aKey(bed.log, { ...tenant, org_id }, { scopes: ['admin', 'operator'] });
    const body = JSON.stringify({ operator: true });
    const headers = { 'content-type': 'application/json' };
    const changed = await call(`${gateway.api}${path}`, key, { method: 'PATCH', headers, body });
    expect([changed.status, changed.body.operator]).toEqual([200, true]);
    expect((await owner.send('PATCH', path, { operator: false })).body.operator).toBe(false);
  });

  it('lose the API keys that their new role does not permit, and the session its rights', async () => {
    const { org_id, owner } = await anOrganisation(bed, gateway);
    const person = await aMember(bed.log, org_id, 'developer');
    const browser = await signedIn(gateway, person);
    const writes = (await browser.send('POST', '/api-keys', { name: 'a' })).body.key;
    const reads = (await browser.send('POST', '/api-keys', { name: 'b', scopes: ['runs:read'] })).body.key;
    await owner.send('PATCH', `/members/${person.id}`, { role: 'viewer' });
    const statusOf = async (key: string) => (await call(`${gateway.api}/whoami`, key)).status;
    await waitFor('the key to be revoked', async () => (await statusOf(writes)) === 401);
    expect(await statusOf(reads)).toBe(200);
    await waitFor('the role to be another', async () => {
      const { body } = await browser.send('GET', '/whoami');
      return body.key.scopes[0] === 'runs:read';
    });
  });

  it('of several organisations keep their account when one removes them', async () => {
    const [first, second] = [await anOrganisation(bed, gateway), await anOrganisation(bed, gateway)];
    const { id, email } = await aMember(bed.log, first.org_id, 'viewer');
    await aMember(bed.log, second.org_id, 'viewer', { email });
    const browser = await signedIn(gateway, { id });
    await first.owner.send('DELETE', `/members/${id}`);
    await waitFor('the session to act nowhere', async () => {
      const { body } = await browser.send('GET', '/whoami');
      return body.code === 'organisation_not_chosen';
    });
    const { body } = await browser.send('GET', '/session');
    expect([body.organisation, body.organisations.length]).toEqual([null, 1]);
    await second.owner.send('DELETE', `/members/${id}`);
    expect((await browser.send('GET', '/session')).body.user).toBeNull();
    expect(await accountsOf(bed.log).people.findByEmail(email)).toBeUndefined();
  });
});

describe('the erasure of an organisation', () => {
  it('leaves nothing of its members, but people of other organisations', async () => {
    const [{ org_id, owner }, kept] = [
      await anOrganisation(bed, gateway),
      await anOrganisation(bed, gateway),
    ];
    const { email, id } = await aMember(bed.log, org_id, 'viewer');
    const both = await aMember(bed.log, org_id, 'viewer');
    await aMember(bed.log, kept.org_id, 'viewer', { email: both.email });
    await signedIn(gateway, { id });
    await invite(owner, anEmail());
    const { memberships, people } = accountsOf(bed.log);
    expect(await memberships.erase(org_id)).toBe(4);
    const left = JSON.stringify(await openBucket(bed.log, 'ACCOUNTS', Type.Unknown()).list());
    for (const text of [org_id, id, email]) expect(left).not.toContain(text);
    expect(await people.findByEmail(both.email)).toEqual({ id: both.id, email: both.email, name: 'Ada' });
    expect(await memberships.erase(org_id)).toBe(0);
    expect(await memberships.of(both.id)).toHaveLength(1);
  });
});
