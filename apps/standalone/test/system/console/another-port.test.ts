import { randomUUID } from 'node:crypto';
import { anOpenIdProvider, type OpenIdProvider } from '@runledger/testing/stand-ins/open-id-provider';
import type { TestPage } from '@runledger/testing/browser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aConsole, request, type TestConsole } from '../../fixtures/console/a-console.ts';
import { aProgramOnAPort, type ProgramOnAPort } from '../../fixtures/console/program-on-a-port.ts';

type Page = TestPage['page'];

let subject: TestConsole;
let provider: OpenIdProvider;
let program: ProgramOnAPort;
beforeAll(async () => {
  provider = await anOpenIdProvider();
  subject = await aConsole({
    RUNLEDGER_OIDC_ISSUER: provider.issuer,
    RUNLEDGER_OIDC_CLIENT_ID: provider.clientId,
    RUNLEDGER_OIDC_CLIENT_SECRET: provider.clientSecret,
    RUNLEDGER_OIDC_NAME: 'Acme',
  });
  await provider.registerRedirect(`${subject.standalone.url}/session/oidc/callback`);
  program = await aProgramOnAPort(subject.origin);
}, 240_000);
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await subject[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const send = async (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
) => {
  const response = await fetch(`${subject.standalone.url}${path}`, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { code?: string; pending: string; url: string };
  return { status: response.status, answer };
};

/** All that the page of the console has stored for its origin. */
const stored = (page: Page): Promise<Record<string, string>> => page.evaluate('({ ...localStorage })');

const tokenOf = async (page: Page): Promise<string> => {
  const token = (await stored(page))['runledger-session-token'];
  if (token === undefined) throw new Error('The page has no token.');
  return token;
};

const signedInAs = (page: Page): Promise<void> => page.getByRole('button', { name: 'Sign out' }).waitFor();
const signedOut = (page: Page): Promise<void> =>
  page.getByRole('heading', { name: 'Sign in to Runledger' }).waitFor();

describe('a program on another port of the host', { timeout: 240_000 }, () => {
  it('gets the cookie from the browser of who is signed in, and can do nothing with it', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/keys');
    const { page } = tab;
    const token = await tokenOf(page);
    const other = await page.context().newPage();
    await other.goto(program.origin);
    const tried = await other.waitForFunction<string>("document.querySelector('pre').textContent");
    const cookie = String(program.got[0]?.cookie);
    expect(cookie).toMatch(/^runledger_session=/);
    expect(JSON.stringify([program.got, await tried.jsonValue()])).not.toContain(token);
    expect(JSON.parse(await tried.jsonValue())).toEqual({
      storage: '{}',
      cookies: '',
      '/api/session': 'TypeError',
      '/api/whoami': 'TypeError',
      '/console/': 'TypeError',
      key: 'TypeError',
      opened: 'SecurityError',
      address: 'SecurityError',
    });

    const key = { name: `taken ${randomUUID()}`, scopes: ['admin'] };
    const refused = await send('POST', '/api-keys', { cookie }, key);
    expect([refused.status, refused.answer.code]).toEqual([401, 'session_incomplete']);
    expect((await send('GET', '/whoami', { cookie })).status).toBe(401);
    await page.reload();
    await page.getByRole('button', { name: 'New key …' }).waitFor();
    expect(await page.getByText(key.name).count()).toBe(0);
    // With what it lacks, the same requests succeed.
    const whole = { cookie, 'runledger-session': token };
    expect((await send('GET', '/whoami', whole)).status).toBe(200);
    expect((await send('POST', '/api-keys', whole, key)).status).toBe(201);
  });

  it('cannot put its own session into the console, which signs out and can be signed in to again', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/runs');
    await using another = await subject.visitAsOwner(context, '/runs');
    const [theirs] = await another.page.context().cookies();
    program.setCookie = `${theirs?.name}=${theirs?.value}; Path=/; HttpOnly`;
    const other = await tab.page.context().newPage();
    await other.goto(program.origin);
    program.setCookie = undefined;
    await tab.page.reload();
    await signedOut(tab.page);
    expect(await tab.page.locator('.who').count()).toBe(0);
    const email = String((await another.page.locator('.who').textContent())?.split(' ')[0]);
    const { url, api_key } = subject.standalone;
    const link = await request<{ url: string }>(`${url}/accounts/links`, api_key, { email });
    await tab.page.goto(link.url);
    await signedInAs(tab.page);
  });

  it('cannot finish a sign-in with the provider that it began, in the browser of somebody else', async (context) => {
    const email = `hedy.${randomUUID()}@example.com`;
    provider.setAccount({ sub: 'hedy', email, email_verified: true });
    const { url, api_key } = subject.standalone;
    const { token } = await request<{ token: string }>(`${url}/invitations`, api_key, {
      email,
      role: 'owner',
    });
    const { answer: begun } = await send('POST', '/session/oidc', {}, { invitation: token });
    await using tab = await subject.visit(context, '/runs');
    const { page } = tab;
    await signedOut(page);
    await page.goto(begun.url);
    await page.getByLabel('Account', { exact: true }).fill('hedy');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('sign_in_not_begun').waitFor();
    expect(page.url()).toBe(`${subject.origin}/console/sign-in`);
    const cookies = await page.context().cookies(subject.origin);
    expect(cookies.filter(({ name }) => name.includes('runledger'))).toEqual([]);
    expect(await stored(page)).toEqual({});
  });
});

describe('the token of a session', { timeout: 240_000 }, () => {
  it('is there after a reload and in another tab, in no address, and out of the reach of cookies', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/runs');
    const { page } = tab;
    const token = await tokenOf(page);
    await page.reload();
    await signedInAs(page);
    const second = await page.context().newPage();
    const addresses: string[] = [];
    second.on('request', (sent) => addresses.push(sent.url()));
    await second.goto(`${subject.origin}/console/deployments`);
    await signedInAs(second);
    await second.close();
    await page.getByRole('link', { name: 'Fleet' }).click();
    await signedInAs(page);
    expect([...tab.requests, ...addresses].filter((url) => url.includes(token))).toEqual([]);
    const [cookie] = await page.context().cookies(subject.origin);
    expect([cookie?.httpOnly, cookie?.sameSite]).toEqual([true, 'Strict']);
    expect(JSON.stringify(cookie)).not.toContain(token);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signedOut(page);
    expect(await stored(page)).toEqual({});
    expect(await page.context().cookies(subject.origin)).toEqual([]);
  });

  it('that a person has erased is asked for with a new sign-in', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/runs');
    await tab.page.evaluate('localStorage.clear()');
    await tab.page.reload();
    await signedOut(tab.page);
    expect(await tab.page.getByRole('button', { name: 'Sign in with Acme' }).count()).toBe(1);
  });

  it('comes with a sign-in with the provider, for the page that began it', async (context) => {
    const email = `joan.${randomUUID()}@example.com`;
    provider.setAccount({ sub: 'joan', email, email_verified: true });
    const { url, api_key } = subject.standalone;
    const { token } = await request<{ token: string }>(`${url}/invitations`, api_key, {
      email,
      role: 'viewer',
    });
    await using tab = await subject.visit(context, `/invitation#token=${token}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Join with Acme' }).click();
    await page.getByLabel('Account', { exact: true }).fill('joan');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(email).waitFor();
    expect(Object.keys(await stored(page))).toEqual(['runledger-session-token']);
    await page.reload();
    await page.getByText(email).waitFor();
  });
});
