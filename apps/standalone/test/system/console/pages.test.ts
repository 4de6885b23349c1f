import { mkdtempDisposable, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestPage } from '@runledger/testing/browser';
import { aReceiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { source } from 'axe-core';
import {
  aConsole,
  PATIENT,
  DESK,
  PHONE,
  request,
  type TestConsole,
} from '../../fixtures/console/a-console.ts';
import { PROGRAM } from '../../fixtures/console/program.ts';
import { sidewaysScroll } from '../../fixtures/browser/text-of-page.ts';

/** Two nodes in the API format of ComfyUI. */
const WORKFLOW = {
  '1': { class_type: 'LoadImage', inputs: { image: 'a.png' }, _meta: { title: 'The photo' } },
  '2': { class_type: 'SaveImage', inputs: { images: ['1', 0] } },
};
const INPUTS = [
  { name: 'text', type: 'string', required: true },
  { name: 'count', type: 'integer', required: false, minimum: 1 },
  { name: 'photo', type: 'image', required: false },
  { name: 'frames', type: 'image[]', required: false },
];

/** A minute of the log, which tests of the replay have recorded. */
const CAPTURED_MINUTE = fileURLToPath(
  new URL('../../../../replay/test/sample/sample.ndjson.zst', import.meta.url),
);

type Page = TestPage['page'];

let subject: TestConsole;
beforeAll(async () => {
  subject = await aConsole({
    EXECUTOR_GPUS: 'A10G:1',
    EXECUTOR_PROGRAMS: JSON.stringify({ 'render-image': ['sh', '-c', PROGRAM] }),
  });
}, 240_000);
afterAll(() => subject[Symbol.asyncDispose]());

const publish = async (page: Page, workflow: object, number: number): Promise<void> => {
  await page.getByRole('button', { name: 'New version …' }).click();
  await page.getByLabel('Workflow, as JSON').fill(JSON.stringify(workflow));
  await page.getByLabel('Inputs, as JSON').fill(JSON.stringify(INPUTS));
  await page.getByRole('button', { name: 'Publish the version' }).click();
  await page.getByRole('rowheader', { name: String(number), exact: true }).waitFor();
};

const press = async (page: Page, name: string): Promise<void> => page.getByRole('button', { name }).click();

describe('deploying in the console', { timeout: 240_000 }, () => {
  it('takes a workflow to its first run, with a file that is dropped on the form', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/workflows');
    const { page } = tab;
    await press(page, 'New workflow …');
    await page.getByLabel('Name').fill('copy');
    await press(page, 'Make the workflow');
    await publish(page, WORKFLOW, 1);
    await page.locator('svg text', { hasText: 'The photo' }).waitFor();
    await publish(page, { ...WORKFLOW, '2': { ...WORKFLOW['2'], class_type: 'PreviewImage' } }, 2);
    await page.getByLabel('Compare with version 1').check();
    const difference = page.getByRole('region', { name: 'Difference' });
    await difference.locator('.removed', { hasText: '"class_type": "SaveImage"' }).waitFor();
    await difference.locator('.added', { hasText: '"class_type": "PreviewImage"' }).waitFor();

    await page.getByRole('link', { name: 'Machines' }).click();
    await press(page, 'New machine …');
    await page.getByLabel('Name', { exact: true }).fill('copier');
    await page.getByLabel(/^GPU model/).fill('a10g');
    await page.getByLabel(/^Program/).fill('render-image');
    await press(page, 'Make the machine');
    await page.getByRole('rowheader', { name: 'copier' }).waitFor();

    await page.getByRole('link', { name: 'Deployments' }).click();
    await press(page, 'New deployment …');
    await page.getByLabel('Name').fill('copy');
    await page.getByLabel('Workflow').selectOption({ label: 'copy' });
    await page.getByLabel('Version').selectOption({ label: '2' });
    await page.getByLabel('Machine').selectOption({ label: 'copier (A10G)' });
    await press(page, 'Make the deployment');
    await page.getByRole('heading', { name: 'Try it' }).waitFor();
    for (const version of ['1', '2']) {
      await press(page, `Use version ${version}`);
      const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: version }) });
      await row.getByText('get this one').waitFor();
    }

    await page.locator('textarea').fill('some text');
    await page.getByLabel(/^count/).fill('1.5');
    await press(page, 'Run it');
    await page.getByText('Enter a whole number.').waitFor();
    await page.getByLabel(/^count/).fill('2');
    await using large = await aLargeFile('large.png');
    await page.getByLabel(/^photo/).setInputFiles(large.path);
    await page.getByText(/^large\.png, 65 MiB, is uploaded\.$/).waitFor(PATIENT);
    await page.evaluate(DROP_A_FILE);
    await page.getByText(/^dropped\.png, 4 B, is uploaded\.$/).waitFor();
    await press(page, 'Run it');
    await page.getByText('success', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Workflow' }).locator('text', { hasText: 'The photo' }).waitFor();
    const inputs = page.getByRole('region', { name: 'Inputs' });
    await inputs.getByText('some text').waitFor();
    await inputs.getByText('photo').waitFor();
    expect(tab.complaints).toEqual([]);
  });

  it('queues a run with the files that are left in a list, and not before they are uploaded', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/deployments');
    const { page } = tab;
    await page.getByRole('link', { name: 'copy', exact: true }).first().click();
    await page.locator('textarea').fill('some text');
    const frames = page.getByLabel(/^frames/);
    const listed = page
      .getByRole('listitem')
      .filter({ has: page.getByRole('button', { name: /^Remove file/ }) });
    const held = Promise.withResolvers<void>();
    await page.route('**/api/files**', async (route) => {
      await held.promise;
      await route.continue();
    });
    await frames.setInputFiles([aFile('a.png', 'a'), aFile('b.png', 'bb')]);
    await page.getByText('Uploading …').waitFor();
    expect(await page.getByRole('button', { name: 'Run it' }).isDisabled()).toBe(true);
    expect(await frames.isDisabled()).toBe(true);
    held.resolve();
    await listed.nth(1).waitFor();
    expect(await listed.allTextContents()).toEqual(['a.png, 1 B Remove', 'b.png, 2 B Remove']);
    await press(page, 'Remove file 1, a.png');
    await expect.poll(() => listed.allTextContents(), PATIENT).toEqual(['b.png, 2 B Remove']);
    // The same file again.
    await frames.setInputFiles([aFile('b.png', 'bb')]);
    await listed.nth(1).waitFor();
    await frames.setInputFiles([aFile('c.png', 'ccc')]);
    await listed.nth(2).waitFor();
    await press(page, 'Remove file 1, b.png');
    await press(page, 'Run it');
    await page.getByText('success', { exact: true }).waitFor();
    expect(await filesOf(page, 'frames')).toEqual(['b.png', 'c.png']);
    expect(tab.complaints).toEqual([]);
  });
});

const aFile = (name: string, content: string) => ({
  name,
  mimeType: 'image/png',
  buffer: Buffer.from(content),
});

/** The names of the files that the run of the page has as this input. */
const filesOf = async (page: Page, input: string): Promise<string[]> => {
  const { url, api_key } = subject.standalone;
  const run_id = new URL(page.url()).pathname.split('/').at(-1);
  const run = await request<{ workflow_inputs: Record<string, string[]> }>(
    `${url}/run/${run_id}?include=inputs`,
    api_key,
  );
  const files = (run.workflow_inputs[input] ?? []).map((id) =>
    request<{ filename: string }>(`${url}/files/${id}`, api_key),
  );
  return (await Promise.all(files)).map(({ filename }) => filename);
};

/** More than the service takes at once. */
const LARGE_BYTES = 65 * 1024 * 1024;

const aLargeFile = async (name: string): Promise<AsyncDisposable & { readonly path: string }> => {
  const folder = await mkdtempDisposable(join(tmpdir(), 'runledger-large-'));
  const path = join(folder.path, name);
  await writeFile(path, '');
  await truncate(path, LARGE_BYTES);
  return { path, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
};

/** As text, since it runs in the browser. */
const DROP_A_FILE = `(() => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(['abcd'], 'dropped.png', { type: 'image/png' }));
  document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
})()`;

describe('the fleet in the console', { timeout: 240_000 }, () => {
  it('plays a captured day with other slots, in the browser', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/fleet');
    const { page } = tab;
    await page.getByRole('region', { name: /^Executor / }).waitFor();
    await page.getByRole('link', { name: 'What if it were different?' }).click();
    const file = page.getByLabel('The file of a captured day');
    await file.setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('none') });
    await page.getByText(/^notes\.txt cannot be read: /).waitFor();
    await file.setInputFiles(CAPTURED_MINUTE);
    await page.getByText('58 runs of 4 organisations').waitFor();
    await page.getByLabel('Slots of L4 to try').fill('40');
    await press(page, 'Play the day');
    await page.getByText('The model: with the settings of that day').waitFor(PATIENT);
    const slots = page.getByRole('region', { name: 'How much slots are used' });
    await slots.getByRole('row', { name: 'L4 with the changes 40.0' }).waitFor();
    for (const what of ['Waits by organisation', 'Slots in use by', 'Utilisation by', 'Fairness'])
      await page.getByAltText(what).waitFor();
    await expect.poll(() => page.evaluate(SHOWN_IMAGES), PATIENT).toBe(4);
    expect(await violations(page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });
});

const SHOWN_IMAGES = `[...document.querySelectorAll('main img')].filter(({ naturalWidth }) => naturalWidth > 300).length`;

describe('the page of webhooks', { timeout: 240_000 }, () => {
  it('shows that a receiver is not tried before a time, and its deliveries', async (context) => {
    const { url, api_key, deployment_id } = subject.standalone;
    // Nothing listens there any more.
    const receiver = await aReceiver();
    await receiver[Symbol.asyncDispose]();
    const { host } = new URL(receiver.url);
    for (let run = 0; run < 5; run += 1) {
      const body = { deployment_id, inputs: { waits: true }, webhook: `${receiver.url}/hook` };
      const { run_id } = await request<{ run_id: string }>(`${url}/run/deployment/queue`, api_key, body);
      await request(`${url}/run/${run_id}/cancel`, api_key, {});
    }
    await using tab = await subject.visitAsOwner(context, '/webhooks');
    const receivers = tab.page.getByRole('region', { name: 'receivers' });
    const row = receivers.getByRole('row', { name: receiver.url });
    await row.getByText('open', { exact: true }).waitFor();
    await row.getByText('nobody can connect to it').waitFor();
    await row.getByText(/^next try in \d+ s$/).waitFor();
    await row.getByText(/^5: /).waitFor();
    await row.getByRole('link', { name: 'Show them' }).click();
    await expect.poll(() => tab.page.url(), PATIENT).toContain(`host=${encodeURIComponent(host)}`);
    await tab.page
      .getByRole('region', { name: 'deliveries' })
      .getByText(`${receiver.url}/hook`)
      .first()
      .waitFor();
    expect(tab.complaints).toEqual([]);
  });
});

describe('every page', { timeout: 480_000 }, () => {
  it('has nothing that axe finds, in light and dark, and scrolls sideways on no phone', async (context) => {
    const { url, api_key, deployment_id } = subject.standalone;
    const body = { deployment_id, inputs: { fails: true } };
    const { run_id } = await request<{ run_id: string }>(`${url}/run/deployment/queue`, api_key, body);
    await request(`${url}/run/${run_id}?wait=30`, api_key);
    const { deployments } = await request<{ deployments: { id: string; workflow_id: string }[] }>(
      `${url}/deployments`,
      api_key,
    );
    const [deployment] = deployments;
    const paths = [
      '/runs',
      `/runs/${run_id}`,
      `/runs/${run_id}?at=${await firstPosition(run_id)}`,
      '/deployments',
      `/deployments/${deployment?.id}`,
      '/workflows',
      `/workflows/${deployment?.workflow_id}`,
      '/machines',
      '/fleet',
      '/fleet/what-if',
      '/webhooks',
      '/usage',
      '/audit',
      '/system',
      '/keys',
      '/people',
      '/account',
      '/nowhere',
    ];
    const found: string[] = [];
    await using tab = await subject.visitAsOwner(context, '/runs');
    for (const path of paths) {
      await tab.page.goto(`${subject.origin}/console${path}`);
      await tab.page.locator('main h1').waitFor();
      await expect.poll(() => tab.page.getByText(/^Loading /).count(), PATIENT).toBe(0);
      for (const { scheme, rules, ...size } of [
        // What is the same in both schemes is looked at once.
        { ...PHONE, scheme: 'dark' as const, rules: ['color-contrast', 'target-size'] },
        { ...DESK, scheme: 'light' as const, rules: undefined },
      ]) {
        await tab.page.setViewportSize(size);
        await tab.page.emulateMedia({ colorScheme: scheme });
        found.push(...(await violations(tab.page, rules)).map((each) => `${scheme} ${path}: ${each}`));
        const wider = await sidewaysScroll(tab);
        if (wider > 0) found.push(`${size.width} px ${path}: ${wider} px too wide`);
      }
    }
    expect(tab.complaints.filter((text) => !text.includes('404'))).toEqual([]);
    await using outside = await subject.visit(context, '/runs', { ...PHONE, scheme: 'light' });
    await outside.page.locator('main h1').waitFor();
    found.push(...(await violations(outside.page)));
    expect(found).toEqual([]);
  });

  it('can be used with the keyboard alone', async (context) => {
    await using tab = await subject.visitAsOwner(context, '/runs');
    const { page } = tab;
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the page');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('page');
    await page.getByRole('link', { name: 'Machines' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Machines' }).waitFor();
    await page.getByRole('button', { name: 'New machine …' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await expect
      .poll(() => page.evaluate('document.activeElement.textContent'), PATIENT)
      .toBe('New machine …');
  });
});

/** `rules`: of axe; all that are on by default without them. */
const violations = async (page: Page, rules?: readonly string[]): Promise<string[]> => {
  await page.evaluate(source);
  const options = JSON.stringify(rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } });
  return page.evaluate<string[]>(`axe.run(${options}).then(({ violations }) => violations.map(
    ({ id, nodes }) => id + ' at ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join('; ')))`);
};

const firstPosition = async (run_id: string): Promise<number> => {
  const { url, api_key } = subject.standalone;
  const { entries } = await request<{ entries: { sequence: number }[] }>(
    `${url}/run/${run_id}/history`,
    api_key,
  );
  return Number(entries[0]?.sequence);
};
