import { join } from 'node:path';
import { freePort } from '@runledger/local-servers/free-port';
import { testBrowser } from '@runledger/testing/browser';
import { expect, it } from 'vitest';
import { aClientService } from '../fixtures/clients/client-service.ts';
import { startNextSite } from '../fixtures/clients/next-site.ts';
import { installPackedClient } from '../fixtures/clients/packed-client.ts';

it(
  'the example of Next.js shows a run live in a browser, to the end',
  { timeout: 600_000 },
  async (context) => {
    const browser = await testBrowser();
    if (browser.kind === 'unavailable') return context.skip(browser.reason);
    await using open = new AsyncDisposableStack();
    open.use(browser);
    const packed = open.use(installPackedClient());
    const port = await freePort();
    const { standalone, deployment } = open.use(
      await aClientService({ RUNLEDGER_CORS_ORIGINS: `http://127.0.0.1:${port}` }),
    );
    const site = {
      folder: join(packed.folder, 'next'),
      client: `../${packed.tarball}`,
      port,
      env: {
        PATH: process.env['PATH'],
        RUNLEDGER_URL: standalone.url,
        RUNLEDGER_API_KEY: standalone.api_key,
        RUNLEDGER_DEPLOYMENT: deployment,
      },
    };
    open.use(await startNextSite(site));
    const { page } = open.use(await browser.open({ width: 390 }));
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.getByRole('button', { name: 'Run' }).click();
    const shown = page.getByText('100 % success');
    await shown.waitFor({ timeout: 90_000 });
    expect(await shown.isVisible()).toBe(true);
  },
);
