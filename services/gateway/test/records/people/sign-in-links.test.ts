import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aBrowser, accountsOf, aMember, anEmail, signedIn } from '../../fixtures/accounts/a-browser.ts';
import { anOrganisation, codeOf } from '../../fixtures/accounts/an-organisation.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { post } from '../../fixtures/requests/requests.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

describe('a link', () => {
  it('signs in once, and permits a new password without the one that was lost', async () => {
    const { org_id, ...tenant } = await anOrganisation(bed, gateway);
    const person = await aMember(bed.log, org_id, 'viewer', { hasPassword: true });
    const key = await aKey(bed.log, { ...tenant, org_id }, { scopes: ['operator'] });
    const made = await post(`${gateway.api}/accounts/links`, key, { email: person.email });
    expect([made.status, made.body.url]).toEqual([
      201,
      `${gateway.url}/console/sign-in#token=${made.body.token}`,
    ]);
    const { token } = made.body;
    const browser = aBrowser(gateway.api);
    const other = aBrowser(gateway.api);
    const both = await Promise.all(
      [browser, other].map((one) => one.send('POST', '/session/link', { token })),
    );
    expect(both.map(({ status }) => String(status)).toSorted()).toEqual(['200', '410']);
    const [used] = both.filter(({ status }) => status === 200);
    expect(used?.body).toMatchObject({ has_password: true, needs_current_password: false });
    const signed = both[0] === used ? browser : other;
    const former = await signedIn(gateway, person);
    const changed = await signed.send('POST', '/account/password', { password: 'a new password' });
    expect(changed.status).toBe(204);
    expect((await former.send('GET', '/session')).body.user).toBeNull();
    const signIn = { email: person.email, password: 'a new password' };
    expect((await browser.send('POST', '/session', signIn)).status).toBe(200);
    expect(await codeOf(browser.send('POST', '/account/password', { password: 'yet another one' }))).toEqual([
      403,
      'current_password_wrong',
    ]);
    const both_given = { password: 'yet another one', current_password: 'a new password' };
    expect((await browser.send('POST', '/account/password', both_given)).status).toBe(204);
  });

  it('ends after 15 minutes by the clock of the broker, at a gateway whose own clock is wrong', async () => {
    const { org_id } = await anOrganisation(bed, gateway);
    const { email } = await aMember(bed.log, org_id, 'viewer');
    const minutes = (count: number) => () => new Date(Date.now() + count * 60_000);
    for (const now of [minutes(120), minutes(-120)]) {
      const wrong = await bed.gateway({ now });
      const signIn = async (token: string) =>
        (await aBrowser(wrong.api).send('POST', '/session/link', { token })).status;
      const { token } = await accountsOf(bed.log).links.create({ email });
      expect(await signIn(token)).toBe(200);
      const { token: ended } = await accountsOf(bed.log, minutes(-16)).links.create({ email });
      expect(await signIn(ended)).toBe(410);
    }
  });

  it('of a standalone makes the owner, who operates it, and ends after 15 minutes', async () => {
    const { org_id } = await anOrganisation(bed, gateway);
    const email = anEmail();
    const { links } = accountsOf(bed.log);
    const late = accountsOf(bed.log, () => new Date(Date.now() - 16 * 60_000));
    const ended = await late.links.create({ email, owner_of: org_id });
    expect(await codeOf(aBrowser(gateway.api).send('POST', '/session/link', { token: ended.token }))).toEqual(
      [410, 'sign_in_link_gone'],
    );
    const first = await links.create({ email, owner_of: org_id });
    const { token } = await links.create({ email, owner_of: org_id });
    const browser = aBrowser(gateway.api);
    expect(await codeOf(browser.send('POST', '/session/link', { token: first.token }))).toEqual([
      410,
      'sign_in_link_gone',
    ]);
    const { body } = await browser.send('POST', '/session/link', { token });
    expect(body).toMatchObject({ has_password: false, needs_current_password: false });
    expect(body.organisation).toMatchObject({ id: org_id, role: 'owner', scopes: ['admin', 'operator'] });
  });
});
