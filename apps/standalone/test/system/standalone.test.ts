import { readFileSync, readdirSync, statSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { healthPage } from '@runledger/testing/health-pages';
import { waitFor } from '@runledger/testing/wait-for';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConnectionFile, readOperatorFile } from '../../src/data-folder/connection-files.ts';
import { descendants, descendantsOf } from '../fixtures/processes.ts';
import { runApi } from '../fixtures/run-api.ts';
import { runCli } from '../fixtures/run-cli.ts';
import { sendExamples } from '../fixtures/send-examples.ts';
import { spawnStandalone, startStandalone, type Standalone } from '../fixtures/start-standalone.ts';

/** The token in subjects. The setting has a space. */
const NAME = 'a-box';

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('a standalone', () => {
  let standalone: Standalone;
  beforeAll(async () => {
    standalone = await startStandalone({ env: { EXECUTOR_NAME: 'a box' } });
  }, 120_000);
  afterAll(() => standalone.stop());

  it('prints a curl command that can be pasted', async () => {
    const line = standalone
      .output()
      .split('\n')
      .find((text) => text.includes('curl -s') && text.includes('/queue'));
    const [, url = '', key = '', body = ''] =
      /^ {2}curl -s (\S+) -H 'Authorization: Bearer (\S+)' -H 'Content-Type: application\/json' -d '(.+)'$/.exec(
        line ?? '',
      ) ?? [];
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body });
    expect(await answer.json()).toEqual({ run_id: expect.any(String) });
  });

  it('shows examples in the reference of its API that can be sent as they stand', async () => {
    const answers = await sendExamples(standalone);
    expect(answers.map(({ sent, status }) => [sent, status])).toEqual([
      ['queueRun', 200],
      ['cancelRun', 200],
      ['createMachine', 201],
      ['createWorkflow', 201],
      ['createWorkflowVersion', 201],
      ['createDeployment', 201],
      ['createSchedule', 201],
      ['createApiKey', 201],
    ]);
  });

  it('keeps secrets in files that only the owner may read', () => {
    expect(mode(standalone.dataFolder)).toBe('700');
    const files = readdirSync(standalone.dataFolder, { withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    for (const { name } of files)
      expect([name, mode(join(standalone.dataFolder, name))]).toEqual([name, '600']);
    const { url, api_key, deployment_id, webhook_secret } = standalone;
    const connection: unknown = JSON.parse(
      readFileSync(join(standalone.dataFolder, 'connection.json'), 'utf8'),
    );
    expect(connection).toEqual({ url, api_key, deployment_id, webhook_secret });
    const log = readFileSync(join(standalone.dataFolder, 'logs', 'gateway.log'), 'utf8');
    expect(log).not.toContain(standalone.api_key);
    expect(log).not.toContain('whsec_');
  });

  it('gives each service only its own key for the broker', async () => {
    const keyOf = (user: string): string => join(standalone.dataFolder, 'keys', `${user}.nk`);
    for (const [service, user] of [
      ['gateway', 'gateway'],
      ['scheduler', 'scheduler'],
      ['gpu-executor', `executor-${NAME}`],
      ['notifier', 'notifier'],
    ] as const) {
      const [pid = 0] = descendantsOf(standalone.pid, `services/${service}/src/main.`);
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      expect(environment.filter((entry) => /NATS_(?!URL)/.test(entry))).toEqual([
        `NATS_NKEY_FILE=${keyOf(user)}`,
      ]);
    }
    const seed = readFileSync(keyOf(`executor-${NAME}`), 'utf8').trim();
    const operator = await readOperatorFile(standalone.dataFolder);
    if (operator.kind !== 'found') throw new Error('operator.json is missing.');
    await using log = await openEventLog(
      { url: operator.content.nats_url, seed, name: 'test' },
      silentLogger,
    );
    const keys = openBucket(log, 'KEYS', Type.Unknown());
    await expect(keys.list('')).rejects.toMatchObject({ code: 'not_allowed' });
    // No service requested anything that it is not permitted.
    expect(standalone.output()).not.toContain('refuses');
  });

  it('signs webhooks with the secret of connection.json, which its key may show and rotate', async () => {
    const { webhook_secret, dataFolder } = standalone;
    const shown = await runCli(['webhook-secret', '--json'], dataFolder);
    expect(JSON.parse(shown.stdout)).toMatchObject({ secret: webhook_secret, previous: null });
    const rotated = await runCli(['webhook-secret', 'rotate', '--overlap', '60', '--json'], dataFolder);
    const { secret, previous }: { secret: string; previous: unknown } = JSON.parse(rotated.stdout);
    expect(previous).toMatchObject({ secret: webhook_secret });
    await waitFor('connection.json to have the new one', async () => {
      const file = await readConnectionFile(dataFolder);
      return file.kind === 'found' && file.content.webhook_secret === secret;
    });
  });

  it('prints commands that work in another terminal, and addresses that have metrics', async () => {
    const output = standalone.output();
    const [, command = ''] = /another terminal: (.* queue --watch)\n/.exec(output) ?? [];
    const { RUNLEDGER_DATA_DIR: _unset, ...env } = process.env;
    const watched = await promisify(execFile)('sh', ['-c', `${command} --input seconds=0 --input size=16`], {
      cwd: fileURLToPath(new URL('../../../..', import.meta.url)),
      env,
    });
    expect(watched.stdout).toMatch(/success after/);
    const addresses = [...output.matchAll(/(http:\S+\/metrics) \((\S+)\)/g)];
    expect(addresses.map(([, , process]) => process)).toEqual([
      'gateway',
      'scheduler',
      'notifier',
      'gpu-executor',
    ]);
    const [, tokenFile = ''] = /the token in (\S+)\n/.exec(output) ?? [];
    expect(statSync(tokenFile).mode & 0o777).toBe(0o600);
    const token = readFileSync(tokenFile, 'utf8').trim();
    for (const [, address = '', process] of addresses)
      expect(await (await healthPage(address, '/metrics', { token })).text()).toContain(
        `service="${process}"`,
      );
  });

  it('refuses a second start on its folder, and shows its process and URL', async () => {
    const second = spawnStandalone(standalone.dataFolder, {});
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`is in use: process ${standalone.pid} has held it since`);
    expect(second.output()).toContain(`serves ${standalone.url}`);
  });

  it('restarts a killed service, and prints that it does', async () => {
    const find = (): number | undefined =>
      descendants(standalone.pid).find(({ command }) => command.includes('services/gateway/src/main.'))?.pid;
    const before = find();
    if (before === undefined) throw new Error('no gateway runs');
    process.kill(before, 'SIGKILL');
    await waitFor('another gateway', () => find() !== before && find() !== undefined);
    expect(standalone.output()).toContain('gateway was killed by SIGKILL. Restarting it in 0.5 s.');
    const api = runApi(standalone);
    await waitFor('the gateway to answer', () => api.queue({ size: 16, seconds: 0 }));
  });
});
