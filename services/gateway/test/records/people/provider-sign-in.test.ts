import type { AuditEntry } from '@runledger/contracts/http/audit';
import { anOpenIdProvider, type OpenIdProvider } from '@runledger/testing/stand-ins/open-id-provider';
import { signInAtProvider } from '@runledger/testing/stand-ins/sign-in-at-provider';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aBrowser, aMember, anEmail, PASSWORD, signedIn } from '../../fixtures/accounts/a-browser.ts';
import {
  anAccount,
  begin,
  callbackOf,
  finish,
  gatewayWith,
  SIGNED_IN,
  signInWith,
} from '../../fixtures/accounts/a-provider-sign-in.ts';
import { accept, anOrganisation, codeOf, invite } from '../../fixtures/accounts/an-organisation.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';

let bed: TestBed;
let provider: OpenIdProvider;
let gateway: TestGateway;
let org_id: string;
beforeAll(async () => {
  [bed, provider] = await Promise.all([openTestBed(), anOpenIdProvider()]);
  gateway = await gatewayWith(bed, provider);
  await provider.registerRedirect(callbackOf(gateway));
  ({ org_id } = bed.tenant);
});
afterAll(async () => {
  await provider[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

describe('a sign-in with the provider', () => {
  it('signs a member in whose e-mail the provider has verified', async () => {
    const person = await aMember(bed.log, org_id, 'developer');
    const account = anAccount(provider, { email: person.email.toUpperCase() });
    const browser = aBrowser(gateway.api);
    expect(await signInWith(provider, browser, account)).toBe(SIGNED_IN);
    expect(browser.session()).toEqual({
      cookie: expect.stringMatching(/^runledger_session=[\w-]{43}$/),
      'runledger-session': expect.stringMatching(/^[\w-]{43}$/),
    });
    const { body } = await browser.send('GET', '/session');
    expect(body).toMatchObject({
      user: { id: person.id, email: person.email, name: 'Ada' },
      organisation: { id: org_id, scopes: ['runs:write'] },
      has_password: false,
      has_identity: true,
      needs_current_password: false,
      sign_in: ['password', 'oidc'],
      provider: { name: 'Acme' },
    });
    expect((await browser.send('GET', '/whoami')).body.user.id).toBe(person.id);
  });

  it('goes to the provider with PKCE, state and nonce, which the page keeps sealed', async () => {
    const { body, headers } = await aBrowser(gateway.api).send('POST', '/session/oidc', {});
    const query = Object.fromEntries(new URL(body.url).searchParams);
    expect(query).toEqual({
      client_id: provider.clientId,
      redirect_uri: callbackOf(gateway),
      response_type: 'code',
      scope: 'openid email profile',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(body.pending).toMatch(/^v1\.[\w.-]+$/);
    for (const secret of [query['state'], query['nonce']]) expect(body.pending).not.toContain(secret);
    expect(headers.getSetCookie()).toEqual([]);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('knows its person by the id at the provider, whatever the e-mail becomes', async () => {
    const person = await aMember(bed.log, org_id, 'viewer');
    const { sub } = anAccount(provider, { email: person.email });
    expect(await signInWith(provider, aBrowser(gateway.api), { sub })).toBe(SIGNED_IN);
    const other = await aMember(bed.log, org_id, 'owner');
    anAccount(provider, { sub, email: other.email, email_verified: false });
    const browser = aBrowser(gateway.api);
    expect(await signInWith(provider, browser, { sub })).toBe(SIGNED_IN);
    expect((await browser.send('GET', '/session')).body.user.id).toBe(person.id);
  });

  it('is refused to a stranger, and where the e-mail is not verified', async () => {
    const stranger = anAccount(provider, { email: anEmail() });
    expect(await signInWith(provider, aBrowser(gateway.api), stranger)).toBe('person_unknown');
    const { email } = await aMember(bed.log, org_id, 'owner');
    for (const email_verified of [false, undefined, 'true' as unknown as boolean]) {
      const account = { ...anAccount(provider, { email }), email_verified };
      if (email_verified === undefined) Reflect.deleteProperty(account, 'email_verified');
      provider.setAccount(account as typeof account & { email_verified: boolean });
      const browser = aBrowser(gateway.api);
      expect(await signInWith(provider, browser, account)).toBe('email_not_verified');
      expect(browser.session()).toEqual({});
    }
  });

  it('is refused when another account of the provider is the person already', async () => {
    const person = await aMember(bed.log, org_id, 'viewer');
    const [first, second] = [anAccount(provider, person), anAccount(provider, person)];
    const answers = await Promise.all(
      [first, second].map((account) => signInWith(provider, aBrowser(gateway.api), account)),
    );
    expect(new Set(answers)).toEqual(new Set([SIGNED_IN, 'identity_taken']));
  });

  it('removes a password that somebody else may have chosen, and ends their sessions', async () => {
    const person = await aMember(bed.log, org_id, 'viewer', { hasPassword: true });
    const mallory = await signedIn(gateway, person);
    const browser = aBrowser(gateway.api);
    expect(await signInWith(provider, browser, anAccount(provider, { email: person.email }))).toBe(SIGNED_IN);
    expect((await browser.send('GET', '/session')).body.has_password).toBe(false);
    expect((await mallory.send('GET', '/session')).body.user).toBeNull();
    const guess = { email: person.email, password: PASSWORD };
    expect(await codeOf(aBrowser(gateway.api).send('POST', '/session', guess))).toEqual([
      401,
      'sign_in_refused',
    ]);
    const chosen = { password: 'another horse battery' };
    expect((await browser.send('POST', '/account/password', chosen)).status).toBe(204);
  });

  it('keeps the password of somebody who is signed in with it', async () => {
    const person = await aMember(bed.log, org_id, 'viewer', { hasPassword: true });
    const browser = await signedIn(gateway, person);
    const before = browser.session();
    const account = anAccount(provider, { email: person.email });
    expect(await signInWith(provider, browser, account)).toBe(SIGNED_IN);
    const { has_password, has_identity } = (await browser.send('GET', '/session')).body;
    expect([has_password, has_identity]).toEqual([true, true]);
    expect((await aBrowser(gateway.api, before).send('GET', '/session')).body.user).toBeNull();
  });

  it('says that the person went back', async () => {
    const browser = aBrowser(gateway.api);
    const { url, pending } = await begin(browser);
    const answer = await signInAtProvider(url, provider.issuer, { denied: 'yes' });
    expect(await finish(browser, pending, answer)).toBe('provider_refused');
  });
});

describe('an invitation', () => {
  it('is accepted with the provider, by a new person and by one who has an account', async () => {
    const { org_id: invited_to, owner } = await anOrganisation(bed, gateway);
    const email = anEmail();
    const { token } = await invite(owner, email, 'developer');
    const browser = aBrowser(gateway.api);
    const account = anAccount(provider, { email });
    expect(await signInWith(provider, browser, account, { invitation: token })).toBe(SIGNED_IN);
    expect((await browser.send('GET', '/session')).body).toMatchObject({
      user: { email, name: 'Grace' },
      organisation: { id: invited_to, role: 'developer' },
      has_password: false,
      has_identity: true,
    });
    expect(await codeOf(accept(aBrowser(gateway.api), token))).toEqual([410, 'invitation_gone']);
    const second = await anOrganisation(bed, gateway);
    const again = await invite(second.owner, email);
    expect(await signInWith(provider, browser, account, { invitation: again.token })).toBe(SIGNED_IN);
    const { body } = await browser.send('GET', '/session');
    expect([body.organisation.id, body.organisations.length]).toEqual([second.org_id, 2]);
  });

  it('is not accepted with another e-mail, nor once it is revoked', async () => {
    const { owner } = await anOrganisation(bed, gateway);
    const { token, id, email } = await invite(owner, anEmail());
    const other = anAccount(provider, { email: anEmail() });
    const withIt = { invitation: token };
    expect(await signInWith(provider, aBrowser(gateway.api), other, withIt)).toBe('invitation_for_another');
    expect((await owner.send('DELETE', `/invitations/${id}`)).status).toBe(204);
    const invited = anAccount(provider, { email });
    expect(await signInWith(provider, aBrowser(gateway.api), invited, withIt)).toBe('invitation_gone');
    expect(await signInWith(provider, aBrowser(gateway.api), invited)).toBe('person_unknown');
  });
});

describe('what somebody does with the provider', () => {
  it('has audit records, with no e-mail and no id of the provider in them', async () => {
    const { owner, org_id: organisation } = await anOrganisation(bed, gateway);
    const person = await aMember(bed.log, organisation, 'viewer', { hasPassword: true });
    const account = anAccount(provider, { email: person.email });
    expect(await signInWith(provider, aBrowser(gateway.api), account)).toBe(SIGNED_IN);
    const invitation = await invite(owner, anEmail());
    const invited = anAccount(provider, { email: invitation.email });
    const browser = aBrowser(gateway.api);
    expect(await signInWith(provider, browser, invited, { invitation: invitation.token })).toBe(SIGNED_IN);
    const { id: user_id } = (await browser.send('GET', '/session')).body.user;

    const { body } = await owner.send('GET', '/audit?limit=100');
    const records: AuditEntry[] = body.records;
    const done = records.filter(({ stage }) => stage === 'completed').toReversed();
    const session = { kind: 'session', id: expect.any(String) };
    expect(done.map(({ action, actor, target, details }) => [action, actor.kind, target, details])).toEqual([
      ['identity.linked', 'unknown', { kind: 'identity', id: person.id }, { removes_password: true }],
      ['session.created', 'session', session, { by: 'oidc' }],
      ['invitation.created', 'session', expect.anything(), expect.anything()],
      ['identity.linked', 'unknown', { kind: 'identity', id: user_id }, { removes_password: false }],
      ['member.added', 'unknown', { kind: 'member', id: user_id }, { role: 'viewer', operator: false }],
      ['invitation.accepted', 'unknown', { kind: 'invitation', id: invitation.id }, { user_id }],
      ['session.created', 'session', session, { by: 'oidc' }],
    ]);
    for (const secret of ['@example.com', account.sub, invited.sub, invitation.token])
      expect(JSON.stringify(records)).not.toContain(secret);
  });
});
