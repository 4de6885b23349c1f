import { randomUUID } from 'node:crypto';
import type { TestPage } from '@runledger/testing/browser';
import { anOpenIdProvider, type OpenIdProvider } from '@runledger/testing/stand-ins/open-id-provider';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '@runledger/testing/wait-for';
import { kill9 } from '../../fixtures/processes.ts';
import { runCli } from '../../fixtures/run-cli.ts';
import {
  aConsole,
  PATIENT,
  printedLink,
  request,
  type TestConsole,
} from '../../fixtures/console/a-console.ts';

const PASSWORD = 'a horse and a battery';

type Page = TestPage['page'];

let subject: TestConsole;
let provider: OpenIdProvider;
beforeAll(async () => {
  provider = await anOpenIdProvider();
  subject = await aConsole({
    RUNLEDGER_OIDC_ISSUER: provider.issuer,
    RUNLEDGER_OIDC_CLIENT_ID: provider.clientId,
    RUNLEDGER_OIDC_CLIENT_SECRET: provider.clientSecret,
    RUNLEDGER_OIDC_NAME: 'Acme',
  });
  await provider.registerRedirect(`${subject.standalone.url}/session/oidc/callback`);
}, 240_000);
afterAll(async () => {
  await subject[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const statusWith = async (key: string): Promise<number> =>
  (await fetch(`${subject.standalone.url}/whoami`, { headers: { Authorization: `Bearer ${key}` } })).status;

const signIn = async (page: Page, email: string, password: string): Promise<void> => {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
};

describe('signing in', { timeout: 240_000 }, () => {
  it('works once with the link that the start prints, then with the password that the person chooses', async (context) => {
    const link = printedLink(subject.standalone.output());
    await using tab = await subject.visit(context, link);
    const { page } = tab;
    await page.getByRole('heading', { name: 'Choose a password' }).waitFor();
    expect(page.url()).not.toContain('token');
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set it' }).click();
    await page.getByText('It is changed.').waitFor();
    const email = String((await page.locator('.who').textContent())?.split(' ')[0]);
    await page.getByRole('button', { name: 'Sign out' }).click();

    await signIn(page, email, 'something else');
    await page.getByRole('alert').waitFor();
    await signIn(page, email, PASSWORD);
    await page.getByRole('heading', { name: 'Your account' }).waitFor();

    await using second = await subject.visit(context, link);
    await second.page.getByRole('alert').waitFor();
    await second.page.getByText('sign_in_link_gone').waitFor();
    expect(tab.requests.filter((url) => !url.startsWith(`${subject.origin}/`))).toEqual([]);
  });

  it('leads to the page that was asked for', async (context) => {
    await using tab = await subject.visit(context, '/machines');
    await tab.page.getByRole('heading', { name: 'Sign in to Runledger' }).waitFor();
    expect(new URL(tab.page.url()).pathname).toBe('/console/machines');
  });

  it('ends in all tabs at once', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/runs');
    const other = await tab.page.context().newPage();
    await other.goto(`${subject.origin}/console/deployments`);
    await other.getByRole('heading', { name: 'Deployments' }).waitFor();
    await tab.page.getByRole('button', { name: 'Sign out' }).click();
    await tab.page.getByRole('heading', { name: 'Sign in to Runledger' }).waitFor();
    await other.bringToFront();
    await other.getByRole('heading', { name: 'Sign in to Runledger' }).waitFor();
    expect(new URL(other.url()).pathname).toBe('/console/deployments');
  });
});

describe('the ids of another organisation', { timeout: 240_000 }, () => {
  it('lead to pages that say nothing of what has them', async (context) => {
    const { dataFolder, url } = subject.standalone;
    const { stdout } = await runCli(['organisations', 'create', 'rivals', '--json'], dataFolder);
    const theirs: { readonly api_key: string; readonly deployment_id: string } = JSON.parse(stdout);
    const { api_key: key, deployment_id } = theirs;
    const inputs = { title: 'the plan of the rivals' };
    const { run_id } = await request<{ run_id: string }>(`${url}/run/deployment/queue`, key, {
      deployment_id,
      inputs,
    });
    await request(`${url}/run/${run_id}?wait=30`, key);
    const { entries } = await request<{ entries: { sequence: number }[] }>(
      `${url}/run/${run_id}/history`,
      key,
    );
    const { workflow_id } = await request<{ workflow_id: string }>(
      `${url}/deployments/${deployment_id}`,
      key,
    );
    await using tab = await subject.visitAsOwner(context, '/runs');
    const { page } = tab;
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    for (const path of [
      `/runs/${run_id}`,
      `/runs/${run_id}?at=${entries[0]?.sequence}`,
      `/deployments/${deployment_id}`,
      `/workflows/${workflow_id}`,
    ]) {
      await page.goto(`${subject.origin}/console${path}`);
      await page.getByRole('alert').filter({ hasText: 'not found' }).waitFor();
      expect(await page.locator('main').innerText()).not.toMatch(/rivals|mandelbrot|success/);
    }
    for (const path of ['/runs', '/deployments', '/workflows', '/webhooks', '/keys', '/audit']) {
      await page.goto(`${subject.origin}/console${path}`);
      await page.locator('main h1').waitFor();
      await expect.poll(() => page.getByText(/^Loading /).count(), PATIENT).toBe(0);
      const shown = await page.content();
      expect([path, [run_id, deployment_id, workflow_id].filter((id) => shown.includes(id))]).toEqual([
        path,
        [],
      ]);
    }
  });
});

describe('API keys', { timeout: 240_000 }, () => {
  it('are made, shown once, and revoked with those that were made with them', async (context) => {
    const [name, below] = [`nightly ${randomUUID()}`, `child ${randomUUID()}`];
    await using tab = await subject.visitAsOwner(context, '/keys');
    const { page } = tab;
    await page.getByRole('button', { name: 'New key …' }).click();
    await page.getByLabel('Name: what will use it').fill(name);
    await page.getByLabel('Scope').selectOption('admin');
    await page.getByRole('button', { name: 'Make the key' }).click();
    const key = String(await page.getByRole('dialog').locator('pre').textContent());
    expect(await statusWith(key)).toBe(200);
    const { key: child } = await request<{ key: string }>(`${subject.standalone.url}/api-keys`, key, {
      name: below,
    });
    await page.getByRole('button', { name: 'I have it' }).click();
    const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });
    await row.waitFor();
    expect(await page.locator('main').textContent()).not.toContain(key);

    await page.reload();
    await page.getByRole('rowheader', { name: below, exact: true }).waitFor();
    await row.getByRole('button', { name: /Revoke/ }).click();
    await page.getByText(`1 key that was made with it goes: ${below}.`).waitFor();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await expect.poll(() => row.count(), PATIENT).toBe(0);
    await expect.poll(() => Promise.all([statusWith(key), statusWith(child)]), PATIENT).toEqual([401, 401]);
  });
});

const invitationFor = async (page: Page, email: string): Promise<string> => {
  await page.getByRole('button', { name: 'Invite somebody …' }).click();
  await page.getByLabel('E-mail').fill(email);
  await page.getByRole('dialog').getByRole('combobox').selectOption('viewer');
  await page.getByRole('button', { name: 'Make the link' }).click();
  const link = String(await page.getByRole('dialog').locator('pre').textContent());
  return link.slice(link.indexOf('/console') + '/console'.length);
};

describe('people', { timeout: 240_000 }, () => {
  it('come by a link that works once, and see what their role permits', async (context) => {
    const email = `grace.${randomUUID()}@example.com`;
    await using tab = await subject.visitAsOwner(context, '/people');
    const { page } = tab;
    await using guest = await subject.visit(context, await invitationFor(page, email));
    await guest.page.getByRole('heading', { name: /^Join / }).waitFor();
    await guest.page.getByLabel('Name').fill('Grace');
    await guest.page.getByLabel(/^Password/).fill(PASSWORD);
    await guest.page.getByRole('button', { name: 'Join', exact: true }).click();
    await guest.page.getByText(`${email} (viewer)`).waitFor();
    await guest.page.getByRole('link', { name: 'Deployments' }).click();
    await guest.page.getByRole('link', { name: 'mandelbrot' }).click();
    await guest.page.getByRole('region', { name: 'Settings' }).waitFor();
    expect(await guest.page.getByText('Try it').count()).toBe(0);
    expect(await guest.page.getByRole('link', { name: 'People' }).count()).toBe(0);

    await page.reload();
    await page.getByLabel(`Role of ${email}`).selectOption('developer');
    await expect
      .poll(async () => {
        await guest.page.reload();
        await guest.page.getByRole('region', { name: 'Settings' }).waitFor();
        return guest.page.getByText('Try it').count();
      }, PATIENT)
      .toBe(1);
    await page.getByRole('button', { name: `Remove … ${email}` }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await expect.poll(() => page.getByText(email).count(), PATIENT).toBe(0);
    await guest.page.reload();
    await guest.page.getByRole('heading', { name: 'Sign in to Runledger' }).waitFor();
  });
});

const continueAs = async (page: Page, account: string): Promise<void> => {
  await page.getByLabel('Account', { exact: true }).fill(account);
  await page.getByRole('button', { name: 'Continue' }).click();
};

describe('signing in with a provider', { timeout: 240_000 }, () => {
  it('accepts an invitation, and leads to the page that was asked for later', async (context) => {
    const sub = `hedy.${randomUUID()}`;
    const email = `${sub}@example.com`;
    provider.setAccount({ sub, email, email_verified: true, name: 'Hedy' });
    await using owner = await subject.visitAsOwner(context, '/people');
    const link = await invitationFor(owner.page, email);
    await using guest = await subject.visit(context, link);
    const { page } = guest;
    await page.getByRole('button', { name: 'Join with Acme' }).click();
    await continueAs(page, sub);
    await page.getByText(email).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();

    await page.goto(`${subject.origin}/console/account`);
    await page.getByRole('button', { name: 'Sign in with Acme' }).click();
    // The provider remembers its own session, and asks nothing.
    const ways = page.getByRole('region', { name: 'Ways to sign in' });
    await ways.waitFor();
    expect(await ways.locator('dd').allTextContents()).toEqual(['yes', 'none']);
    expect(new URL(page.url()).pathname).toBe('/console/account');
  });

  it('tells a stranger what to do', async (context) => {
    provider.setAccount({ sub: 'eve', email: `eve.${randomUUID()}@example.com`, email_verified: true });
    await using tab = await subject.visit(context, '/runs');
    const { page } = tab;
    await page.getByRole('button', { name: 'Sign in with Acme' }).click();
    await continueAs(page, 'eve');
    await page.getByRole('alert').getByText('Ask an owner of the organisation for an invitation').waitFor();
    await page.getByText('person_unknown').waitFor();
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    expect(page.url()).toBe(`${subject.origin}/console/sign-in`);
  });
});

describe('a console whose gateway is killed', { timeout: 240_000 }, () => {
  it('says so, and goes on by itself when it is back', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/runs');
    const { page } = tab;
    const { standalone } = subject;
    await page.getByText(/There is no run yet|which are all/).waitFor();
    kill9(standalone.pid, 'services/gateway/src/main.');
    const run_id = await waitFor('a run to be queued', async () => queuedRun().catch(() => undefined), {
      withinMs: 60_000,
    });
    await page.locator(`a[title="${run_id}"]`).waitFor({ timeout: 60_000 });
    await page.getByText('success').first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});

const queuedRun = async (): Promise<string> => {
  const { url, api_key, deployment_id } = subject.standalone;
  const body = { deployment_id, inputs: { seconds: 0 } };
  return (await request<{ run_id: string }>(`${url}/run/deployment/queue`, api_key, body)).run_id;
};
