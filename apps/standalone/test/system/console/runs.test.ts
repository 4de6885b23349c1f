import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestPage } from '@runledger/testing/browser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aConsole, PATIENT, request, type TestConsole } from '../../fixtures/console/a-console.ts';
import { PROGRAM } from '../../fixtures/console/program.ts';

const KB = 1_000;
const MANY = 50_000;
/** To queue so many takes a minute or two: without it, the list of them is answered in the browser. */
const QUEUES_MANY = process.env['RUNLEDGER_TEST_MANY_RUNS'] === '1';

type Page = TestPage['page'];

let subject: TestConsole;
beforeAll(async () => {
  subject = await aConsole({
    EXECUTOR_GPUS: 'A10G:2',
    EXECUTOR_PROGRAMS: JSON.stringify({ 'render-image': ['sh', '-c', PROGRAM] }),
  });
}, 240_000);
afterAll(() => subject[Symbol.asyncDispose]());

/** Queues a run of the program with these inputs. */
const queued = async (inputs: Readonly<Record<string, unknown>>, more = {}): Promise<string> => {
  const { url, api_key, deployment_id } = subject.standalone;
  const body = { deployment_id, inputs, ...more };
  const { run_id } = await request<{ run_id: string }>(`${url}/run/deployment/queue`, api_key, body);
  return run_id;
};

const shows = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();

describe('the console', { timeout: 240_000 }, () => {
  it('loads at most 150 kB of compressed script for its first page', () => {
    const page = readFileSync(join(subject.files, 'index.html'), 'utf8');
    const scripts = [...page.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+\.js)"/g)];
    expect(scripts.length).toBeGreaterThan(0);
    const bytes = scripts.map(([, name]) => gzipSync(readFileSync(join(subject.files, String(name)))).length);
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(150 * KB);
  });
});

describe('the list of runs', { timeout: 240_000 }, () => {
  it('shows a run as it comes, goes on and ends, without a reload', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/runs');
    const run_id = await queued({ brief: true }, { tags: ['live:1'] });
    const row = tab.page.getByRole('row').filter({ has: tab.page.locator(`a[title="${run_id}"]`) });
    await row
      .getByText(/running|started/)
      .first()
      .waitFor();
    await row.getByText('success').waitFor();
    expect(tab.complaints).toEqual([]);
  });

  it('has its filter in the address, which leads another tab to the same runs', async (context) => {
    const tag = `filtered:${randomUUID().slice(0, 8)}`;
    const [run_id] = [await queued({}, { tags: [tag] }), await queued({})];
    await using tab = await subject.visitAsOwner(context, '/runs');
    await tab.page.getByLabel('Add a tag').fill(tag);
    await tab.page.getByLabel('Add a tag').press('Enter');
    await shows(tab.page, '1 run loaded, which are all');
    const address = tab.page.url();
    const second = await tab.page.context().newPage();
    await second.goto(address);
    await shows(second, '1 run loaded, which are all');
    expect(await second.locator('.runs-body a').getAttribute('title')).toBe(run_id);
    await second.getByRole('button', { name: 'failed' }).click();
    await shows(second, 'No run matches what is chosen above.');
  });

  it('finds runs by what is typed, and has it in the address', async (context) => {
    const word = `Needle${randomUUID().slice(0, 6)}`;
    const run_id = await queued({ prompt: `a ${word}\nin hay` });
    await queued({ prompt: 'hay' });
    await using tab = await subject.visitAsOwner(context, '/runs');
    await tab.page.locator('.runs-body a').first().waitFor();
    await tab.page.keyboard.press('/');
    await tab.page.keyboard.type(`${word.toUpperCase()} in`);
    // A slow machine looks for what was typed before the rest.
    await expect
      .poll(() => new URL(tab.page.url()).searchParams.get('search'), PATIENT)
      .toBe(`${word.toUpperCase()} in`);
    await shows(tab.page, '1 run loaded, which are all');
    expect(await tab.page.locator('.runs-body a').getAttribute('title')).toBe(run_id);
    const field = tab.page.getByRole('searchbox', { name: 'Search by id' });
    await field.fill(run_id);
    await tab.page.waitForURL((url) => url.searchParams.get('search') === run_id);
    await shows(tab.page, '1 run loaded, which are all');
    await tab.page.getByRole('button', { name: 'Show all runs' }).click();
    await tab.page.locator('.runs-body a').nth(1).waitFor();
    expect(await field.inputValue()).toBe('');
    expect(tab.complaints).toEqual([]);
  });

  it('says how far back it has searched, and looks further when it is told to', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/account');
    await tab.page.addInitScript(boundedSearch(await aRun()));
    await tab.page.goto(`${subject.origin}/console/runs?search=needle`);
    await shows(tab.page, /^Searched back to /);
    expect(await tab.page.locator('.runs-body a').count()).toBe(0);
    await tab.page.getByRole('button', { name: 'Look further back' }).click();
    await shows(tab.page, '1 run loaded, which are all');
    expect(await tab.page.getByRole('button', { name: 'Look further back' }).count()).toBe(0);
    expect(tab.complaints).toEqual([]);
  });

  it('scrolls through 50,000 runs with only some of them in the page', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/account');
    if (QUEUES_MANY) await queueMany(MANY);
    else await tab.page.addInitScript(manyRuns(await aRun(), MANY));
    await tab.page.goto(`${subject.origin}/console/runs`);
    await tab.page.locator('.runs-body a').first().waitFor();
    for (let loaded = 0; loaded < MANY;) {
      loaded = await tab.page.evaluate(SCROLL_TO_END);
    }
    await expect
      .poll(async () => {
        await tab.page.evaluate(SCROLL_TO_END);
        return tab.page.locator('a', { hasText: /^#1 / }).count();
      }, PATIENT)
      .toBe(1);
    expect(await tab.page.locator('.runs-body .runs-row').count()).toBeLessThan(80);
    expect(tab.complaints).toEqual([]);
  });
});

const AT_ONCE = 64;

/** Queues runs that wait: no executor has their GPU. */
const queueMany = async (count: number): Promise<void> => {
  const { url, api_key, deployment_id } = subject.standalone;
  const sample = await request<{ workflow_version_id: string }>(
    `${url}/deployments/${deployment_id}`,
    api_key,
  );
  const { id: machine_id } = await request<{ id: string }>(`${url}/machines`, api_key, {
    name: 'absent',
    gpu: 'H100',
    type: 'program',
    runner: { kind: 'program', program: 'render-image' },
  });
  const deployment = await request<{ id: string }>(`${url}/deployments`, api_key, {
    name: 'waiting',
    workflow_version_id: sample.workflow_version_id,
    machine_id,
  });
  let left = count;
  const queue = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await request(`${url}/run/deployment/queue`, api_key, { deployment_id: deployment.id, inputs: {} });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, queue));
};

const aRun = async (): Promise<object> => {
  const { url, api_key } = subject.standalone;
  return request<object>(`${url}/run/${await queued({})}?wait=30`, api_key);
};

/** As text, since it runs in the browser. Gives how many rows are loaded. */
const SCROLL_TO_END = `(async () => {
  const box = document.querySelector('.runs');
  box.scrollTop = box.scrollHeight;
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
  return Math.round(document.querySelector('.runs-body').clientHeight / 40);
})()`;

/** As text, since it runs in the browser: a search finds nothing on its first page, and `run` on the second. */
const boundedSearch = (run: object): string => `
  const real = fetch;
  globalThis.fetch = async (request, ...more) => {
    const { pathname, searchParams: query } = new URL(request.url ?? request, location.href);
    if (pathname !== '/api/runs') return real(request, ...more);
    const isFound = query.get('cursor') === 'further';
    const isHead = query.has('created_after');
    return Response.json({
      runs: isFound ? [${JSON.stringify(run)}] : [],
      searched_to: isFound || isHead ? null : '2026-01-31T09:30:00.000Z',
      next_cursor: isFound || isHead ? null : 'further',
    });
  };
`;

/** As text, since it runs in the browser: the API lists `count` runs like `run`, in larger pages. */
const manyRuns = (run: object, count: number): string => `
  const real = fetch;
  globalThis.fetch = async (request, ...more) => {
    const { pathname, searchParams: query } = new URL(request.url ?? request, location.href);
    if (pathname !== '/api/runs') return real(request, ...more);
    const from = query.has('created_after') ? ${count} : Number(query.get('cursor') ?? 0);
    const runs = Array.from({ length: Math.min(5_000, ${count} - from) }, (_, index) => ({
      ...${JSON.stringify(run)},
      id: '01a21cd1-0000-7000-8000-' + String(from + index).padStart(12, '0'),
      number: ${count} - from - index,
    }));
    const next = from + 5_000;
    return Response.json({ runs, unknown_runs: [], next_cursor: next < ${count} ? String(next) : null });
  };
`;
