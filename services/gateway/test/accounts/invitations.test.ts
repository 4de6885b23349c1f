import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  aBrowser,
  accountsOf,
  aMember,
  anEmail,
  PASSWORD,
  signedIn,
} from '../fixtures/accounts/a-browser.ts';
import { accept, anOrganisation, codeOf, invite } from '../fixtures/accounts/an-organisation.ts';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

describe('an invitation', () => {
  it('makes an account and a member, once', async () => {
    const { org_id, owner, owner_id } = await anOrganisation(bed, gateway);
    const email = anEmail();
    const made = await invite(owner, email.toUpperCase(), 'developer');
    expect(made).toMatchObject({ email, role: 'developer', invited_by: owner_id });
    expect(made.url).toBe(`${gateway.url}/console/invitation#token=${made.token}`);
    const { token, url: _url, ...shown } = made;
    expect((await owner.send('GET', '/invitations')).body).toEqual({ invitations: [shown] });
    const browser = aBrowser(gateway.api);
    const preview = await browser.send('POST', '/invitations/preview', { token });
    expect(preview.body).toEqual({
      organisation: { id: org_id, name: 'acme' },
      email,
      role: 'developer',
      expires_at: made.expires_at,
      has_account: false,
    });
    const incomplete = await accept(browser, token, { password: 'short' });
    expect(incomplete.body.detail.map(({ loc }: { loc: string[] }) => loc.at(-1))).toEqual([
      'name',
      'password',
    ]);
    const accepted = await accept(browser, token);
    expect([accepted.status, accepted.body.user.email, accepted.body.organisation.scopes]).toEqual([
      200,
      email,
      ['runs:write'],
    ]);
    expect((await browser.send('GET', '/whoami')).body.organisation.id).toBe(org_id);
    expect(await codeOf(accept(aBrowser(gateway.api), token))).toEqual([410, 'invitation_gone']);
    expect((await owner.send('GET', '/invitations')).body.invitations).toEqual([]);
    expect(await codeOf(owner.send('POST', '/invitations', { email, role: 'viewer' }))).toEqual([
      409,
      'member_exists',
    ]);
  });

  it('is accepted by one of two who have its link', async () => {
    const { org_id, owner } = await anOrganisation(bed, gateway);
    const { token } = await invite(owner, anEmail());
    const answers = await Promise.all([
      accept(aBrowser(gateway.api), token),
      accept(aBrowser(gateway.api), token, { name: 'Mallory', password: 'another password' }),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await accountsOf(bed.log).memberships.list(org_id)).toHaveLength(2);
  });

  it('needs the account of its person, which whoever made the link does not have', async () => {
    const [first, second] = [await anOrganisation(bed, gateway), await anOrganisation(bed, gateway)];
    const person = await aMember(bed.log, first.org_id, 'viewer', { hasPassword: true });
    const { token } = await invite(second.owner, person.email, 'owner');
    const guess = { name: 'Eve', password: 'a guess of it' };
    expect(await codeOf(accept(second.owner, token, guess))).toEqual([401, 'sign_in_refused']);
    expect(await codeOf(accept(aBrowser(gateway.api), token, {}))).toEqual([401, 'sign_in_refused']);
    const browser = await signedIn(gateway, person);
    const { status, body } = await accept(browser, token, {});
    expect([status, body.organisation.id, body.organisations.length]).toEqual([200, second.org_id, 2]);
    const third = await aMember(bed.log, first.org_id, 'viewer', { hasPassword: true });
    const another = await invite(second.owner, third.email);
    const by = aBrowser(gateway.api);
    expect((await accept(by, another.token, { password: PASSWORD })).status).toBe(200);
  });

  it('cannot be accepted once it is revoked, or has ended', async () => {
    const { org_id, owner } = await anOrganisation(bed, gateway);
    const made = await invite(owner, anEmail());
    expect((await owner.send('DELETE', `/invitations/${made.id}`)).status).toBe(204);
    expect(await codeOf(owner.send('DELETE', `/invitations/${made.id}`))).toEqual([
      404,
      'invitation_not_found',
    ]);
    expect(await codeOf(accept(aBrowser(gateway.api), made.token))).toEqual([410, 'invitation_gone']);
    const second = await invite(owner, anEmail());
    const inEightDays = new Date(Date.now() + 8 * 24 * 3_600_000);
    expect(await accountsOf(bed.log).invitations.list(org_id, inEightDays)).toEqual([]);
    const stranger = await anOrganisation(bed, gateway);
    expect(await codeOf(stranger.owner.send('DELETE', `/invitations/${second.id}`))).toEqual([
      404,
      'invitation_not_found',
    ]);
    for (const token of ['x', `${org_id}.${second.id}.${'a'.repeat(43)}`, `${second.token}x`])
      expect(await codeOf(accept(aBrowser(gateway.api), token))).toEqual([410, 'invitation_gone']);
  });

  it('is one of a hundred', async () => {
    const { owner } = await anOrganisation(bed, gateway);
    const all = await Promise.all(Array.from({ length: 100 }, () => invite(owner, anEmail())));
    expect(all.every(({ token }) => typeof token === 'string')).toBe(true);
    expect(await codeOf(owner.send('POST', '/invitations', { email: anEmail(), role: 'viewer' }))).toEqual([
      409,
      'too_many_members',
    ]);
  });
});
