import { secretBox } from '@runledger/webhooks/secret-box';
import { aForgedProvider, type ForgedProvider } from '@runledger/testing/stand-ins/forged-provider';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aBrowser, aMember, PASSWORD, type Browser } from '../../fixtures/accounts/a-browser.ts';
import {
  answerAt,
  begin,
  callbackOf,
  finish,
  gatewayWith,
  SIGNED_IN,
} from '../../fixtures/accounts/a-provider-sign-in.ts';
import { codeOf } from '../../fixtures/accounts/an-organisation.ts';
import { A_SECRET_KEY, type TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';

const CLIENT = { clientId: 'runledger', clientSecret: 'a secret of the client' };

let bed: TestBed;
let provider: ForgedProvider;
let gateway: TestGateway;
let email: string;
beforeAll(async () => {
  [bed, provider] = await Promise.all([openTestBed(), aForgedProvider(CLIENT.clientId)]);
  gateway = await gatewayWith(bed, { ...CLIENT, issuer: provider.issuer });
  ({ email } = await aMember(bed.log, bed.tenant.org_id, 'owner'));
});
afterAll(async () => {
  await provider[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});
beforeEach(() => {
  provider.answer = undefined;
  provider.hasOtherKey = false;
});

interface Begun {
  readonly state: string;
  readonly nonce: string;
  readonly pending: string;
  /** The address to which the provider leads the browser. */
  readonly answer: string;
}

const begun = async (browser: Browser): Promise<Begun> => {
  const { url, pending } = await begin(browser);
  const query = new URL(url).searchParams;
  const [state, nonce] = [String(query.get('state')), String(query.get('nonce'))];
  return { state, nonce, pending, answer: `${callbackOf(gateway)}?code=a-code&state=${state}` };
};

/** What the provider would say of the member. */
const rightClaims = (nonce: string) => ({ sub: 'ada', nonce, email, email_verified: true });

describe('an answer of the provider', () => {
  it('signs in when everything in it is right', async () => {
    const browser = aBrowser(gateway.api);
    const { nonce, pending, answer } = await begun(browser);
    provider.claims = rightClaims(nonce);
    expect(await finish(browser, pending, answer)).toBe(SIGNED_IN);
    expect((await browser.send('GET', '/session')).body.user.email).toBe(email);
  });

  it.each<[string, object]>([
    ['with another nonce', { nonce: 'another' }],
    ['without a nonce', { nonce: undefined }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['for another client', { aud: 'another client' }],
    ['that has expired', { exp: Math.floor(Date.now() / 1_000) - 300 }],
  ])('is refused: an ID token %s', async (_what, wrong) => {
    const browser = aBrowser(gateway.api);
    const { nonce, pending, answer } = await begun(browser);
    provider.claims = { ...rightClaims(nonce), ...wrong };
    expect(await finish(browser, pending, answer)).toBe('provider_answer_invalid');
    expect((await browser.send('GET', '/session')).body.user).toBeNull();
  });

  it('is refused: an ID token with the signature of somebody else', async () => {
    const browser = aBrowser(gateway.api);
    const { nonce, pending, answer } = await begun(browser);
    provider.claims = rightClaims(nonce);
    provider.hasOtherKey = true;
    expect(await finish(browser, pending, answer)).toBe('provider_answer_invalid');
  });
});

describe('a sign-in with the provider', () => {
  it('is finished once, by the page that began it', async () => {
    const browser = aBrowser(gateway.api);
    const { nonce, state, pending, answer } = await begun(browser);
    const other = await begun(browser);
    provider.claims = rightClaims(nonce);
    const asked = provider.requests();
    expect(await finish(browser, other.pending, answer)).toBe('sign_in_not_begun');
    for (const wrong of [
      answer.replace(state, 'wrong'),
      `${callbackOf(gateway)}?code=a-code`,
      `${answer}&state=b`,
    ])
      expect(await finish(browser, pending, wrong)).toBe('sign_in_not_begun');
    expect(provider.requests()).toBe(asked);
    expect(await finish(browser, pending, answer)).toBe(SIGNED_IN);
  });

  it('is finished by any gateway', async () => {
    const other = await gatewayWith(bed, { ...CLIENT, issuer: provider.issuer });
    const browser = aBrowser(gateway.api);
    const { nonce, pending, answer } = await begun(browser);
    provider.claims = rightClaims(nonce);
    expect(await finish(aBrowser(other.api), pending, answer)).toBe(SIGNED_IN);
  });

  it('ends after ten minutes, and cannot be made up', async () => {
    const checks = { state: 'state', nonce: 'nonce', code_verifier: 'verifier' };
    const sealed = (expires_at: number, key = A_SECRET_KEY, context = 'oidc sign-in'): string =>
      secretBox([key]).seal(JSON.stringify({ checks, expires_at }), context);
    const soon = Date.now() + 60_000;
    const finished = (pending: string) =>
      finish(aBrowser(gateway.api), pending, `${callbackOf(gateway)}?code=a&state=state`);
    provider.claims = rightClaims('nonce');
    expect(await finished(sealed(soon))).toBe(SIGNED_IN);
    const strangersKey = Buffer.alloc(32, 7).toString('base64');
    for (const pending of [
      sealed(Date.now() - 1),
      sealed(soon, strangersKey),
      sealed(soon, A_SECRET_KEY, 'else'),
      'x',
    ])
      expect(await finished(pending)).toBe('sign_in_not_begun');
  });

  it('comes back to the address of the server, with the answer in the fragment as it was', async () => {
    const secure = await gatewayWith(
      bed,
      { ...CLIENT, issuer: provider.issuer },
      { RUNLEDGER_PUBLIC_URL: 'https://runs.example.com' },
    );
    const redirect = new URL((await begin(aBrowser(secure.api))).url).searchParams.get('redirect_uri');
    expect(redirect).toBe('https://runs.example.com/api/session/oidc/callback');
    const query = 'error=denied&error_description=no%20%26%20%23never&state=a%2Fb';
    expect(await answerAt(`${callbackOf(secure)}?${query}`)).toBe(query);
    const { headers } = await fetch(`${callbackOf(secure)}?${query}`, { redirect: 'manual' });
    expect(headers.get('location')).toMatch(/^https:\/\/runs\.example\.com\/console\/sign-in#answer=/);
  });

  it('is not offered where no provider is set', async () => {
    const without = await bed.gateway();
    expect(await codeOf(aBrowser(without.api).send('POST', '/session/oidc', {}))).toEqual([
      404,
      'provider_not_offered',
    ]);
    const address = `${callbackOf(without)}?code=a&state=b`;
    expect(await finish(aBrowser(without.api), 'x', address)).toBe('provider_not_offered');
  });
});

describe('a provider that fails', () => {
  it('is waited for some seconds, while people sign in with their passwords, and asked again', async () => {
    const slow = await aForgedProvider(CLIENT.clientId);
    slow.answer = () => undefined;
    const other = await gatewayWith(bed, { ...CLIENT, issuer: slow.issuer });
    const person = await aMember(bed.log, bed.tenant.org_id, 'viewer', { hasPassword: true });
    const begins = performance.now();
    const waiting = Array.from({ length: 20 }, () =>
      codeOf(aBrowser(other.api).send('POST', '/session/oidc', {})),
    );
    const withPassword = { email: person.email, password: PASSWORD };
    expect((await aBrowser(other.api).send('POST', '/session', withPassword)).status).toBe(200);
    for (const answer of await Promise.all(waiting)) expect(answer).toEqual([503, 'provider_unavailable']);
    expect(performance.now() - begins).toBeLessThan(9_000);
    expect(slow.requests()).toBe(1);
    slow.answer = undefined;
    await waitFor('the provider to be asked again', async () => {
      const { status } = await aBrowser(other.api).send('POST', '/session/oidc', {});
      return status === 200;
    });
    await slow[Symbol.asyncDispose]();
  });

  it('signs nobody in, and says so', async () => {
    const faults: [string, NonNullable<ForgedProvider['answer']>][] = [
      ['provider_unavailable', (response) => response.destroy()],
      ['provider_unavailable', (response) => void response.writeHead(502).end()],
      [
        'provider_answer_invalid',
        (response) => void response.writeHead(400).end('{"error":"invalid_grant"}'),
      ],
      ['provider_answer_invalid', (response) => void response.writeHead(200).end('x'.repeat(600_000))],
    ];
    for (const [code, answerOf] of faults) {
      const browser = aBrowser(gateway.api);
      const { pending, answer } = await begun(browser);
      provider.answer = answerOf;
      expect(await finish(browser, pending, answer)).toBe(code);
      provider.answer = undefined;
    }
  });

  it('is tried some twenty times from an address, then the address waits', async () => {
    let outcome = '';
    for (let tries = 0; tries < 40 && outcome !== 'sign_in_limited'; tries += 1) {
      const browser = aBrowser(gateway.api);
      const { pending, answer } = await begun(browser);
      provider.claims = { sub: 'mallory' };
      outcome = await finish(browser, pending, answer);
    }
    expect(outcome).toBe('sign_in_limited');
  });
});
