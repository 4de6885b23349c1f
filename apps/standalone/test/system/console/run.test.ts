import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import type { TestPage } from '@runledger/testing/browser';
import { aConsole, PATIENT, request, type TestConsole } from '../../fixtures/console/a-console.ts';
import { PROGRAM } from '../../fixtures/console/program.ts';

type Page = TestPage['page'];

let subject: TestConsole;
beforeAll(async () => {
  subject = await aConsole({
    EXECUTOR_GPUS: 'A10G:1',
    EXECUTOR_PROGRAMS: JSON.stringify({ 'render-image': ['sh', '-c', PROGRAM] }),
  });
}, 240_000);
afterAll(() => subject[Symbol.asyncDispose]());

const queued = async (inputs: Readonly<Record<string, unknown>>): Promise<string> => {
  const { url, api_key, deployment_id } = subject.standalone;
  const { run_id } = await request<{ run_id: string }>(`${url}/run/deployment/queue`, api_key, {
    deployment_id,
    inputs,
  });
  return run_id;
};

const ended = async (inputs: Readonly<Record<string, unknown>>): Promise<string> => {
  const { url, api_key } = subject.standalone;
  const run_id = await queued(inputs);
  await request(`${url}/run/${run_id}?wait=30`, api_key);
  return run_id;
};

const visited = (context: TestContext, run_id: string): Promise<TestPage> =>
  subject.visitAsOwner(context, `/runs/${run_id}`);

const region = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

describe('the page of a run', { timeout: 240_000 }, () => {
  it('is live: progress, log, and then its outputs as what they are', async (context) => {
    const run_id = await queued({ brief: true });
    await using tab = await visited(context, run_id);
    const { page } = tab;
    await region(page, 'Outputs').getByText('a red pixel').waitFor();
    await page.getByText('success', { exact: true }).waitFor();
    await region(page, 'Logs').getByText('a line of the log').waitFor();
    await expect
      .poll(() => page.evaluate("document.querySelector('figure img')?.naturalWidth"), PATIENT)
      .toBe(1);
    await expect
      .poll(() => page.evaluate("document.querySelector('img.picture')?.naturalWidth"), PATIENT)
      .toBeGreaterThan(100);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      region(page, 'Logs').getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${run_id}.jsonl`);
    expect(await readFile(await download.path(), 'utf8')).toContain('"line":"a line of the log"');
    expect(tab.complaints).toEqual([]);
  });

  it('shows first why a run failed', async (context) => {
    await using tab = await visited(context, await ended({ fails: true }));
    await tab.page.getByRole('heading', { name: 'Why it failed' }).waitFor();
    await tab.page
      .getByText(/no memory is left/)
      .first()
      .waitFor();
    await tab.page.getByText(/exit status 3/).waitFor();
    expect(tab.complaints).toEqual([]);
  });

  it('says why a run waits, cancels another one, and the next one starts', async (context) => {
    const [first, second] = [await queued({ waits: true }), await queued({})];
    await using tab = await visited(context, second);
    const { page } = tab;
    await page.getByRole('heading', { name: 'Why it waits' }).waitFor();
    await page.goto(`${subject.origin}/console/runs/${first}`);
    await page.getByText(/50 %/).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('cancelled', { exact: true }).waitFor();
    await page.goto(`${subject.origin}/console/runs/${second}`);
    await page.getByText('success', { exact: true }).waitFor();
    expect(tab.complaints).toEqual([]);
  });

  it('queues the run again with other inputs', async (context) => {
    const run_id = await ended({ fails: true });
    await using tab = await visited(context, run_id);
    const { page } = tab;
    await page.getByRole('button', { name: 'Run again …' }).click();
    const inputs = page.getByLabel('Inputs, as JSON');
    await inputs.fill('{"fails": ');
    await page.getByText('This is not a JSON object yet.').waitFor();
    await inputs.fill('{"fails": false}');
    await page.getByRole('button', { name: 'Queue it' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run_id));
    await page.getByText('success', { exact: true }).waitFor();
    await region(page, 'Inputs').getByText('fails').waitFor();
    expect(tab.complaints).toEqual([]);
  });

  it('gives the run as code', async (context) => {
    await using tab = await visited(context, await ended({}));
    const { page } = tab;
    await page.getByRole('button', { name: 'As code …' }).click();
    await page.getByText(`"deployment_id":"${subject.standalone.deployment_id}"`).waitFor();
    await page.getByRole('button', { name: 'Python' }).click();
    await page.getByText('from runledger import Runledger').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count(), PATIENT).toBe(0);
  });

  it('tells a run that is not there', async (context) => {
    await using tab = await visited(context, '01a21cd1-3e46-72cf-a9ad-9310b05aadd1');
    await tab.page.getByText(/another organisation, or one that was deleted/).waitFor();
    expect(await tab.page.getByRole('region').count()).toBe(0);
  });
});

describe('time travel', { timeout: 240_000 }, () => {
  it('shows the whole page as the run was, fact by fact, and has a link to each moment', async (context) => {
    await using tab = await visited(context, await ended({ fails: true }));
    const { page } = tab;
    await page.getByText(/^Now, after [1-9]/).waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('heading', { name: /After fact (\d+) of \1/ }).waitFor();
    await page.getByRole('slider').press('Home');
    await page.getByRole('heading', { name: /After fact 1 of \d+: RunQueued/ }).waitFor();
    const summary = region(page, 'Summary');
    await summary.getByText('queued', { exact: true }).waitFor();
    expect(await page.getByRole('heading', { name: 'Why it failed' }).count()).toBe(0);

    await page.keyboard.press('ArrowRight');
    await page.getByRole('heading', { name: /After fact 2 of \d+: RunAssigned/ }).waitFor();
    await summary.getByText('started', { exact: true }).waitFor();
    const travel = region(page, 'Time travel');
    await travel.getByText(/^scheduler, about the executor /).waitFor();
    await travel.getByText(/^fact 1, RunQueued at \d+$/).waitFor();
    await travel.getByText('Raw form').click();
    await travel.getByText('"correlation_id"').waitFor();

    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByRole('heading', { name: /After fact 2 of \d+: RunAssigned/ }).waitFor();
    await region(other, 'Summary').getByText('started', { exact: true }).waitFor();
    expect(tab.complaints).toEqual([]);
  });

  it('shows in what two moments differ', async (context) => {
    await using tab = await visited(context, await ended({ fails: true }));
    const { page } = tab;
    await page.getByText(/^Now, after [1-9]/).waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByLabel('Compare with').selectOption({ index: 0 });
    const members = region(page, 'The run at this moment');
    const status = members
      .getByRole('row')
      .filter({ has: page.getByRole('rowheader', { name: 'status (changed)', exact: true }) });
    await expect
      .poll(() => status.getByRole('cell').allTextContents(), PATIENT)
      .toEqual(['queued', 'failed']);
    expect(page.url()).toMatch(/at=\d+&from=\d+/);
  });
});
