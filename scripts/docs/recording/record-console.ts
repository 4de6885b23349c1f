import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testBrowser, type TestPage } from '@runledger/testing/browser';
import { callsOf, type Api } from './calls.ts';
import type { Made } from './record-run.ts';

const SCREEN = { width: 1280, height: 820 };
const SCHEMES = ['light', 'dark'] as const;
const PALETTES = ['ember', 'lagoon', 'aurora', 'graphite'];

interface ConsoleOptions extends Api {
  readonly deployments: Made;
  /** It signs in once. */
  readonly link: string;
  /** The folder of the pictures. */
  readonly folder: string;
}

/**
 * Writes pictures of the console's main pages, for light pages and dark ones: runs of which some have ended, one has failed and some wait,
 * a run, the same one in its past, and the fleet. @throws Error when there is no browser, or the API refuses something
 */
export const recordConsole = async ({ link, folder, deployments, ...api }: ConsoleOptions): Promise<void> => {
  const browser = await testBrowser();
  if (browser.kind === 'unavailable') throw new Error(browser.reason);
  await using chromium = browser;
  await using tab = await chromium.open(SCREEN);
  const { page } = tab;
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();

  const { made, call } = callsOf(api);
  const queue = (deployment_id: string, inputs: object): Promise<string> =>
    made('/run/deployment/queue', { deployment_id, inputs });
  const painted = [];
  for (const palette of PALETTES)
    painted.push(await queue(deployments.sample, { palette, size: 256, seconds: 1 }));
  const failed = await queue(deployments.noise, { colour: 'infrared' });
  for (const run of [...painted, failed]) await call(`/run/${run}?wait=60`);
  for (let n = 0; n < 6; n += 1) await queue(n % 2 === 0 ? deployments.noise : deployments.sample, {});

  const { origin } = new URL(link);
  const take = async (
    name: string,
    path: string,
    isReady: (shown: TestPage['page']) => Promise<void>,
  ): Promise<void> => {
    for (const scheme of SCHEMES) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(`${origin}/console${path}`);
      await isReady(page);
      await writeFile(join(folder, `console-${name}-${scheme}.png`), await page.screenshot());
    }
  };
  await take('fleet', '/fleet', (shown) => shown.getByRole('region', { name: /^Queue for/ }).waitFor());
  await take('runs', '/runs', (shown) => shown.getByRole('table').getByText('success').first().waitFor());
  const [oldest = ''] = painted;
  await take('run', `/runs/${oldest}`, async (shown) => {
    await shown.getByRole('img', { name: /mandelbrot/ }).waitFor();
    await shown.getByRole('slider').waitFor();
  });
  const { entries }: { readonly entries: readonly { readonly sequence?: number; readonly type?: string }[] } =
    JSON.parse(await call(`/run/${oldest}/history`));
  const started = entries.find(({ type }) => type === 'RunStarted');
  await take('past', `/runs/${oldest}?at=${started?.sequence}`, (shown) =>
    shown.getByRole('heading', { name: /^After fact .* RunStarted/ }).waitFor(),
  );
};
