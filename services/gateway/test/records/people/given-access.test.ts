import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  withoutMember,
  memberRecords,
  invitationRecords,
} from '../../../src/records/people/member-records.ts';
import type { Person } from '../../../src/records/people/people.ts';
import { aBrowser, accountsOf, aMember, anEmail, signedIn } from '../../fixtures/accounts/a-browser.ts';
import { accept, anOrganisation, codeOf, invite } from '../../fixtures/accounts/an-organisation.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post } from '../../fixtures/requests/requests.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

const GONE = [410, 'invitation_gone'];
const isRevoked = async (key: string): Promise<boolean> =>
  (await call(`${gateway.api}/whoami`, key)).status === 401;
const isAccepted = (token: string) => codeOf(accept(aBrowser(gateway.api), token));

/** Beside the honest owner, Mallory is one, and gave access to herself and to another member. */
const withMallory = async () => {
  const organisation = await anOrganisation(bed, gateway);
  const { org_id } = organisation;
  const mallory = await aMember(bed.log, org_id, 'owner', { operator: true });
  const member = await aMember(bed.log, org_id, 'developer');
  const browser = await signedIn(gateway, mallory);
  const keyFor = async (user_id: string, scopes: readonly string[]): Promise<string> =>
    (await browser.send('POST', '/api-keys', { name: 'a', scopes, user_id })).body.key;
  return {
    ...organisation,
    mallory,
    member,
    browser,
    admin: await keyFor(member.id, ['admin']),
    writes: await keyFor(member.id, ['runs:write']),
    invitation: await invite(browser, anEmail(), 'owner'),
  };
};

describe('a removed owner leaves nothing that gives access', () => {
  it('neither keys in the name of others, nor invitations, whoever they are for', async () => {
    const { owner, mallory, member, browser, admin, writes, invitation } = await withMallory();
    const derived = (await post(`${gateway.api}/api-keys`, admin, { name: 'b', scopes: ['admin'] })).body;
    expect(derived.made_by).toBe(member.id);
    const keys = (await owner.send('GET', '/api-keys')).body.api_keys;
    expect(keys.filter((key: { made_by: string }) => key.made_by === mallory.id)).toHaveLength(2);
    expect((await owner.send('DELETE', `/members/${mallory.id}`)).status).toBe(204);
    for (const key of [admin, writes, derived.key]) await waitFor('the key to end', () => isRevoked(key));
    expect((await browser.send('GET', '/session')).body.user).toBeNull();
    expect(await isAccepted(invitation.token)).toEqual(GONE);
    expect((await owner.send('GET', '/invitations')).body.invitations).toEqual([]);
    const { body } = await owner.send('GET', '/members');
    expect(body.members).toHaveLength(2);
  });

  it('also by an invitation of another owner, which is for them', async () => {
    const { owner, browser, org_id } = await withMallory();
    const later = await aMember(bed.log, org_id, 'viewer');
    const { token } = await invite(browser, anEmail());
    const [open] = await accountsOf(bed.log).invitations.list(org_id, new Date());
    await invitationRecords(bed.log).create(
      { ...(open as NonNullable<typeof open>), id: later.id, email: later.email },
      new Date(),
    );
    await owner.send('DELETE', `/members/${later.id}`);
    const left = (await owner.send('GET', '/invitations')).body.invitations;
    expect(left.map(({ email }: { email: string }) => email)).not.toContain(later.email);
    expect(await isAccepted(token)).toEqual([200, undefined]);
  });

  it('when the removal was interrupted, and is repeated', async () => {
    const { org_id, owner, mallory, admin } = await withMallory();
    await memberRecords(bed.log).change(org_id, (members) => withoutMember(members, mallory.id));
    expect(await isRevoked(admin)).toBe(false);
    const remove = () => codeOf(owner.send('DELETE', `/members/${mallory.id}`));
    expect((await owner.send('DELETE', `/members/${mallory.id}`)).status).toBe(204);
    await waitFor('the key to end', () => isRevoked(admin));
    expect(await accountsOf(bed.log).people.findByEmail(mallory.email)).toBeUndefined();
    expect(await remove()).toEqual([404, 'member_not_found']);
  });
});

it('an owner who becomes a developer has given no more than a developer may', async () => {
  const { owner, mallory, admin, writes, invitation } = await withMallory();
  await owner.send('PATCH', `/members/${mallory.id}`, { role: 'developer' });
  await waitFor('the key to end', () => isRevoked(admin));
  expect(await isRevoked(writes)).toBe(false);
  expect(await isAccepted(invitation.token)).toEqual(GONE);
});

it('an invitation of an API key ends with the key, and a link with the rights of its operator', async () => {
  const { org_id, owner, owner_id: _owner, ...tenant } = await anOrganisation(bed, gateway);
  const person = await aMember(bed.log, org_id, 'viewer');
  const key = await aKey(bed.log, { ...tenant, org_id }, { scopes: ['admin', 'operator'] });
  const invitation = (await post(`${gateway.api}/invitations`, key, { email: anEmail(), role: 'viewer' }))
    .body;
  const link = (await post(`${gateway.api}/accounts/links`, key, { email: person.email })).body;
  const { api_keys } = (await owner.send('GET', '/api-keys')).body;
  const { id } = api_keys.find(({ scopes }: { scopes: string[] }) => scopes.includes('operator'));
  const revoked = await call(`${gateway.api}/api-keys/${id}`, key, { method: 'DELETE' });
  expect(revoked.status).toBe(204);
  expect(await isAccepted(invitation.token)).toEqual(GONE);
  const use = aBrowser(gateway.api).send('POST', '/session/link', { token: link.token });
  expect(await codeOf(use)).toEqual([410, 'sign_in_link_gone']);
});

describe('an invitation that somebody accepts', () => {
  it('is listed, and can be revoked, until it has ended', async () => {
    const { owner } = await anOrganisation(bed, gateway);
    const { id, token, email } = await invite(owner, anEmail());
    await accountsOf(bed.log).people.create(email, 'Eve');
    expect((await owner.send('GET', '/invitations')).body.invitations).toMatchObject([{ id }]);
    expect((await owner.send('DELETE', `/invitations/${id}`)).status).toBe(204);
    expect(await isAccepted(token)).toEqual(GONE);
    expect((await owner.send('GET', '/invitations')).body.invitations).toEqual([]);
  });

  it('makes no member, and gives a member nothing, once it does not stand', async () => {
    const { org_id, owner_id } = await anOrganisation(bed, gateway);
    const { memberships, people } = accountsOf(bed.log);
    const email = anEmail();
    const stranger = await people.create(email, 'Eve');
    const viewer = await aMember(bed.log, org_id, 'viewer');
    if (!stranger) throw new Error('there is a person');
    const add = (person: Person, invited: Parameters<typeof memberships.add>[2]) =>
      memberships.add(org_id, { person, role: 'owner', operator: false }, invited);
    for (const invited of [
      { made_by: { org_id, user_id: owner_id, key_id: null }, stands: async () => false },
      { made_by: { org_id, user_id: viewer.id, key_id: null }, stands: async () => true },
    ]) {
      expect(await add(stranger, invited)).toEqual({ kind: 'withdrawn' });
      expect(await add({ ...viewer, name: 'Ada' }, invited)).toEqual({ kind: 'withdrawn' });
    }
    const roles = (await memberships.list(org_id)).map(({ user_id, role }) => [user_id, role]);
    expect(roles).toContainEqual([viewer.id, 'viewer']);
    expect(roles).toHaveLength(2);
    expect(await people.findByEmail(email)).toBeUndefined();
  });
});
