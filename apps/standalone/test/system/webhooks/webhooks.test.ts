import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readOperatorFile } from '../../../src/data-folder/connection-files.ts';
import { descendants } from '../../fixtures/processes.ts';
import { runApi } from '../../fixtures/run-api.ts';
import { runCli } from '../../fixtures/run-cli.ts';
import { startStandalone, type Standalone } from '../../fixtures/start-standalone.ts';

const command = fileURLToPath(new URL('../../../../cli/bin/runledger.mjs', import.meta.url));

/** `runledger listen` beside a standalone, until the end of the test. */
const startListening = async (
  dataFolder: string,
): Promise<{ readonly url: string; readonly received: () => Record<string, unknown>[] }> => {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [command, 'listen', '--json', '--port', '0'], {
    env: { PATH, HOME, RUNLEDGER_DATA_DIR: dataFolder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  killWithParent(child);
  onTestFinished(async () => {
    const closed = once(child, 'close');
    child.kill('SIGINT');
    await closed;
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const url = await waitFor('the listener', () => /Listening at (\S+),/.exec(stderr)?.[1]);
  const lines = (): string[] => stdout.split('\n').slice(0, -1);
  return { url, received: () => lines().map((line) => JSON.parse(line)) };
};

/** The health ports in the environment of the services. */
const healthPorts = (pid: number): string[] =>
  descendants(pid)
    .filter(({ command: line }) => line.includes('/services/') && line.includes('src/main.'))
    .flatMap(
      (service) =>
        /RUNLEDGER_HEALTH_PORT=(\d+)/.exec(readFileSync(`/proc/${service.pid}/environ`, 'utf8'))?.[1] ?? [],
    );

describe('the webhook of a run in a standalone', () => {
  let standalone: Standalone;
  beforeAll(async () => {
    standalone = await startStandalone();
  }, 120_000);
  afterAll(() => standalone.stop());

  it('arrives at runledger listen with a valid signature and outputs', { timeout: 90_000 }, async () => {
    const { dataFolder } = standalone;
    const { url, received } = await startListening(dataFolder);
    const run = await runApi(standalone).queue({ size: 16, seconds: 0 }, { webhook: url });
    const [notification] = await waitFor('its notification', () => received().length > 0 && received());
    expect(notification).toMatchObject({
      signature: 'right',
      answered: 200,
      body: { run_id: run, status: 'success', finished: true },
    });
    const [file = ''] = /http:[^"]+\.png/.exec(JSON.stringify(notification)) ?? [];
    expect(await fetch(file)).toMatchObject({ status: 200 });
    const { stdout } = await waitFor('the delivery to be shown', async () => {
      const shown = await runCli(['deliveries', run], dataFolder);
      return shown.stdout.includes('Delivered:') && shown;
    });
    expect(stdout).toMatch(/Z {2}attempt 1 +200 accepted +.*wait /);
    expect((await runCli(['history', run], dataFolder)).stdout).toMatch(/WebhookDelivered +notifier/);
  });

  it('cannot go to a service of the standalone', async () => {
    const operator = await readOperatorFile(standalone.dataFolder);
    if (operator.kind !== 'found') throw new Error('operator.json is not there.');
    const health = healthPorts(standalone.pid);
    expect(new Set(health).size).toBe(4);
    const running = [
      operator.content.nats_url,
      standalone.url,
      ...health.map((port) => `http://[::1]:${port}`),
    ];
    for (const { host } of running.map((url) => new URL(url)))
      await expect(runApi(standalone).queue({}, { webhook: `http://${host}/` })).rejects.toThrow(
        'is a service of Runledger itself',
      );
  });
});
