import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  aBrowser,
  accountsOf,
  aMember,
  anEmail,
  PASSWORD,
  signedIn,
} from '../../fixtures/accounts/a-browser.ts';
import { accept, anOrganisation, codeOf, invite } from '../../fixtures/accounts/an-organisation.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

describe('an invitation', () => {
  it('makes an account and a member, once', async () => {
    const { org_id, owner, owner_id } = await anOrganisation(bed, gateway, { operator: true });
    const email = anEmail();
    const made = await invite(owner, email.toUpperCase(), 'developer');
    expect(made).toMatchObject({ email, role: 'developer', invited_by: owner_id });
    expect(made.url).toBe(`${gateway.url}/console/invitation#token=${made.token}`);
    const { token, url: _url, organisation_id, may_create_account, ...shown } = made;
    expect([organisation_id, may_create_account]).toEqual([org_id, true]);
    expect((await owner.send('GET', '/invitations')).body).toEqual({ invitations: [shown] });
    const browser = aBrowser(gateway.api);
    const preview = await browser.send('POST', '/invitations/preview', { token });
    expect(preview.body).toEqual({
      organisation: { id: org_id, name: 'acme' },
      email,
      role: 'developer',
      expires_at: made.expires_at,
      may_create_account: true,
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
    const { org_id, owner } = await anOrganisation(bed, gateway, { operator: true });
    const { token } = await invite(owner, anEmail());
    const answers = await Promise.all([
      accept(aBrowser(gateway.api), token),
      accept(aBrowser(gateway.api), token, { name: 'Mallory', password: 'another password' }),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await accountsOf(bed.log).memberships.list(org_id)).toHaveLength(2);
  });

  it('needs the account of its person, which whoever made the link does not have', async () => {
    const [first, second] = [
      await anOrganisation(bed, gateway, { operator: true }),
      await anOrganisation(bed, gateway, { operator: true }),
    ];
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

  it('of an owner makes no account, and does not tell whether there is one', async () => {
    const { owner } = await anOrganisation(bed, gateway);
    const elsewhere = await anOrganisation(bed, gateway, { operator: true });
    const stranger = await aMember(bed.log, elsewhere.org_id, 'viewer', { hasPassword: true });
    const nobody = anEmail();
    const answers = [];
    for (const email of [stranger.email, nobody]) {
      const { token, may_create_account } = await invite(owner, email);
      expect(may_create_account).toBe(false);
      const preview = await owner.send('POST', '/invitations/preview', { token });
      const { email: _email, expires_at: _expires_at, ...shown } = preview.body;
      const guess = { name: 'Eve', password: 'a guess of it' };
      const refused = await accept(aBrowser(gateway.api), token, guess);
      const empty = await accept(aBrowser(gateway.api), token, {});
      answers.push([shown, ...[refused, empty].map(({ status, body }) => [status, body.code, body.detail])]);
    }
    const [ofStranger, ofNobody] = answers;
    expect(ofStranger).toEqual(ofNobody);
    expect(ofNobody?.[1]?.slice(0, 2)).toEqual([401, 'sign_in_refused']);
    expect(await accountsOf(bed.log).people.findByEmail(nobody)).toBeUndefined();
  });

  it('of an operator brings the first person into another organisation, while they are one', async () => {
    const { owner, org_id, owner_id } = await anOrganisation(bed, gateway, { operator: true });
    const theirs = await anOrganisation(bed, gateway);
    const invited = (email: string) =>
      owner.send('POST', '/invitations', { email, role: 'owner', organisation_id: theirs.org_id });
    const first = await invited(anEmail());
    expect(first.body).toMatchObject({ organisation_id: theirs.org_id, may_create_account: true });
    const accepted = await accept(aBrowser(gateway.api), first.body.token);
    expect(accepted.body.organisations).toMatchObject([
      { id: theirs.org_id, role: 'owner', operator: false },
    ]);
    const second = await invited(anEmail());
    await accountsOf(bed.log).memberships.add(org_id, {
      person: { ...(await aMember(bed.log, org_id, 'owner')), name: 'Ada' },
      role: 'owner',
      operator: true,
    });
    await accountsOf(bed.log).memberships.change(org_id, owner_id, { operator: false });
    expect(await codeOf(accept(aBrowser(gateway.api), second.body.token))).toEqual([410, 'invitation_gone']);
    const organisation_id = org_id;
    const back = theirs.owner.send('POST', '/invitations', {
      email: anEmail(),
      role: 'viewer',
      organisation_id,
    });
    expect(await codeOf(back)).toEqual([403, 'scope_missing']);
    const unknown = { email: anEmail(), role: 'viewer', organisation_id: newUuid() };
    const lost = await anOrganisation(bed, gateway, { operator: true });
    expect(await codeOf(lost.owner.send('POST', '/invitations', unknown))).toEqual([
      404,
      'organisation_not_found',
    ]);
  });

  it('cannot be accepted once it is revoked, or has ended', async () => {
    const { org_id, owner } = await anOrganisation(bed, gateway, { operator: true });
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
    const stranger = await anOrganisation(bed, gateway, { operator: true });
    expect(await codeOf(stranger.owner.send('DELETE', `/invitations/${second.id}`))).toEqual([
      404,
      'invitation_not_found',
    ]);
    for (const token of ['x', `${org_id}.${second.id}.${'a'.repeat(43)}`, `${second.token}x`])
      expect(await codeOf(accept(aBrowser(gateway.api), token))).toEqual([410, 'invitation_gone']);
  });

  it('that nobody knows is gone for who could accept one, and lacks the password of anybody else', async () => {
    const { owner } = await anOrganisation(bed, gateway, { operator: true });
    for (const body of [{}, { name: 'Ada' }, { password: null }]) {
      const answer = await accept(aBrowser(gateway.api), 'unknown', body);
      expect([answer.status, answer.body.detail[0].loc, answer.body.detail[0].type]).toEqual([
        422,
        ['body', 'password'],
        'missing',
      ]);
    }
    const gone = [410, 'invitation_gone'];
    expect(await codeOf(accept(aBrowser(gateway.api), 'unknown', { password: 'some password' }))).toEqual(
      gone,
    );
    expect(await codeOf(accept(owner, 'unknown', {}))).toEqual(gone);
    expect(await codeOf(owner.send('POST', '/invitations/preview', { token: 'unknown' }))).toEqual(gone);
  });

  it('is one of a hundred', async () => {
    const { owner } = await anOrganisation(bed, gateway, { operator: true });
    const all = await Promise.all(Array.from({ length: 100 }, () => invite(owner, anEmail())));
    expect(all.every(({ token }) => typeof token === 'string')).toBe(true);
    expect(await codeOf(owner.send('POST', '/invitations', { email: anEmail(), role: 'viewer' }))).toEqual([
      409,
      'too_many_members',
    ]);
  });
});
