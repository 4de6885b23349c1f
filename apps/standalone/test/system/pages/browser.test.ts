import { Runledger } from '@runledger/client';
import { testBrowser, type Screen, type TestBrowser, type TestPage } from '@runledger/testing/browser';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { aClientSite, type ClientSite } from '../../fixtures/browser/client-site.ts';
import { startStandalone, type Standalone } from '../../fixtures/start-standalone.ts';
import { sidewaysScroll, smallTexts } from '../../fixtures/browser/text-of-page.ts';

const PHONE = { width: 390 };
const DESK = { width: 1280, height: 900 };
/** CSS pixels. */
const READABLE = 14;

const open = new AsyncDisposableStack();
let browser: TestBrowser | string;
let site: ClientSite;
let standalone: Standalone;
let origin: string;
beforeAll(async () => {
  const found = await testBrowser();
  browser = found.kind === 'unavailable' ? found.reason : open.use(found);
  if (typeof browser === 'string') return;
  site = open.use(await aClientSite());
  standalone = await startStandalone({ env: { RUNLEDGER_CORS_ORIGINS: site.origin } });
  open.defer(() => standalone.stop());
  ({ origin } = new URL(standalone.url));
}, 180_000);
afterAll(() => open.disposeAsync());

const tab = async (context: TestContext, address: string, screen: Screen): Promise<TestPage> => {
  if (typeof browser === 'string') return context.skip(browser);
  const opened = await browser.open(screen);
  await opened.page.goto(address);
  return opened;
};

const expectOwnRequestsOnly = ({ requests, complaints }: TestPage): void => {
  expect(requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))).toEqual([]);
  expect(complaints).toEqual([]);
};

describe('the reference of the API, in a browser', () => {
  it('shows all operations, finds one, and has its samples in three languages', async (context) => {
    await using shown = await tab(context, `${origin}/api/docs`, DESK);
    const { page } = shown;
    await page.locator('.nav-bar-path').first().waitFor({ state: 'attached' });
    const listed = (await page.locator('.nav-bar-path').allTextContents()).map((text) => text.trim());
    const document = (await (await fetch(`${origin}/api/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { summary: string }>>;
    };
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    expect(listed).toEqual(expect.arrayContaining(operations.map(({ summary }) => summary)));

    await page.getByPlaceholder('Filter').fill('cancel');
    await page.locator('.nav-bar-path', { hasText: 'Cancel a run' }).click();
    const samples = { curl: '--request POST', JavaScript: "method: 'POST'", Python: 'requests.post(' };
    for (const [label, text] of Object.entries(samples)) {
      await page.getByRole('button', { name: label, exact: true }).click();
      await page.locator('.tab-content:visible', { hasText: text }).waitFor();
    }
    expectOwnRequestsOnly(shown);
  });

  it('sends a request with the key of the reader', async (context) => {
    await using shown = await tab(context, `${origin}/api/docs#?route=auth`, DESK);
    const { page } = shown;
    await page.locator('.api-key-input').first().fill(standalone.api_key);
    await page.getByRole('button', { name: /set/i }).first().click();
    await page.goto(`${origin}/api/docs#?route=get-/whoami`);
    const answer = page.waitForResponse(`${origin}/api/whoami`);
    await page.getByRole('button', { name: /execute|try/i }).click();
    expect((await answer).status()).toBe(200);
    expectOwnRequestsOnly(shown);
  });

  it('is readable on a phone, where it finds operations too', async (context) => {
    await using shown = await tab(context, `${origin}/api/docs`, { ...PHONE, scheme: 'dark' });
    const { page } = shown;
    await page.getByText('Runs deployed workflows').first().waitFor();
    expect([await sidewaysScroll(shown), await smallTexts(shown, READABLE)]).toEqual([0, []]);
    await page.getByPlaceholder('Find an operation').fill('cancel');
    await page.getByRole('link', { name: 'Cancel a run' }).click();
    await page.locator('.tab-content:visible', { hasText: '/cancel' }).waitFor();
    expect([await sidewaysScroll(shown), await smallTexts(shown, READABLE)]).toEqual([0, []]);
    expectOwnRequestsOnly(shown);
  });
});

it('the page at / is readable on a small phone, and leads to the reference', async (context) => {
  await using shown = await tab(context, `${origin}/`, { width: 360 });
  expect([await sidewaysScroll(shown), await smallTexts(shown, READABLE)]).toEqual([0, []]);
  await shown.page.getByRole('link', { name: 'Reference of the API' }).click();
  await shown.page.getByText('Runs deployed workflows').first().waitFor();
  expect(shown.page.url()).toBe(`${origin}/api/docs`);
  expectOwnRequestsOnly(shown);
});

it('a page of another origin follows a run to its end with @runledger/client and a token of the run', async (context) => {
  await using shown = await tab(context, `${site.origin}/`, DESK);
  const client = new Runledger({ url: standalone.url, apiKey: standalone.api_key });
  const { run_id } = await client.runs.queue(standalone.deployment_id);
  const { token } = await client.request('POST', '/run/{run_id}/tokens', {
    params: { run_id },
    body: { scopes: ['read', 'events'] },
  });
  const seen = await shown.page.evaluate(
    async ({ url, apiKey, run_id: id }) => {
      const { Runledger: Client } = globalThis as unknown as { Runledger: typeof Runledger };
      const inBrowser = new Client({ url, apiKey });
      const facts: (string | null)[] = [];
      for await (const event of inBrowser.subscribe(id))
        if (event.event === 'fact') facts.push(event.data.type);
      return { facts, status: (await inBrowser.runs.get(id)).status };
    },
    { url: standalone.url, apiKey: token, run_id },
  );
  expect(seen.status).toBe('success');
  expect([seen.facts[0], seen.facts.at(-1)]).toEqual(['RunQueued', 'RunSucceeded']);
  expect(shown.complaints).toEqual([]);
});
