import { createServer } from 'node:net';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { PNG } from 'pngjs';
import { waitFor } from '@runledger/testing/time/wait-for';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readOperatorFile } from '../../src/data-folder/connection-files.ts';
import { descendants, descendantsOf, isAlive } from '../fixtures/processes.ts';
import { runApi } from '../fixtures/run-api.ts';
import { runCli } from '../fixtures/run-cli.ts';
import { spawnStandalone, startStandalone } from '../fixtures/start-standalone.ts';
import type { Standalone } from '../fixtures/start-standalone.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** The token in subjects. The setting has a space. */
const NAME = 'a-box';

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('a standalone', () => {
  let standalone: Standalone;
  beforeAll(async () => {
    standalone = await startStandalone({ env: { EXECUTOR_NAME: 'a box' } });
  }, 120_000);
  afterAll(() => standalone.stop());

  it('runs the sample to success and serves its picture', async () => {
    const api = runApi(standalone);
    const run = await api.queue({ size: 64, seconds: 0.5 });
    const ended = await api.ended(run, 30_000);
    expect(ended).toMatchObject({ status: 'success', progress: 1 });
    const [item] = Object.values(ended.outputs[0]?.data ?? {}).flat();
    if (typeof item !== 'object')
      throw new Error(`no file among the outputs: ${JSON.stringify(ended.outputs)}`);
    const download = await fetch(item.url);
    expect(PNG.sync.read(Buffer.from(await download.arrayBuffer()))).toMatchObject({ width: 64, height: 64 });
  });

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
      const [pid = 0] = descendantsOf(standalone.pid, `services/${service}/src/main.ts`);
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      expect(environment.filter((entry) => /NATS_(?!URL)/.test(entry))).toEqual([
        `NATS_NKEY_FILE=${keyOf(user)}`,
      ]);
    }
    const seed = readFileSync(keyOf(`executor-${NAME}`), 'utf8').trim();
    const operator = await readOperatorFile(standalone.dataFolder);
    if (operator.kind !== 'found') throw new Error('operator.json is not there.');
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
    expect(JSON.parse(rotated.stdout)).toMatchObject({ previous: { secret: webhook_secret } });
  });

  it('refuses a second start on its folder, and shows who holds it', async () => {
    const second = spawnStandalone(standalone.dataFolder, {});
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`is in use: process ${standalone.pid} has held it since`);
    expect(second.output()).toContain(`serves ${standalone.url}`);
  });

  it('restarts a killed service, and says so', async () => {
    const find = (): number | undefined =>
      descendants(standalone.pid).find(({ command }) => command.includes('services/gateway/src/main.ts'))
        ?.pid;
    const before = find();
    if (before === undefined) throw new Error('no gateway runs');
    process.kill(before, 'SIGKILL');
    await waitFor('another gateway', () => find() !== before && find() !== undefined);
    expect(standalone.output()).toContain('gateway was killed by SIGKILL. Restarting it in 0.5 s.');
    const api = runApi(standalone);
    await waitFor('the gateway to answer', () => api.queue({ size: 16, seconds: 0 }));
  });
});

describe('the stop of a standalone', () => {
  let standalone: Standalone;
  beforeAll(async () => {
    standalone = await startStandalone();
  }, 120_000);
  afterAll(() => standalone.stop());

  it('by Ctrl-C, which npm passes on twice, ends all processes in order, and keeps runs and key', async () => {
    const run = await runApi(standalone).queue({ size: 16, seconds: 0 });
    const ended = await runApi(standalone).ended(run, 30_000);
    const { api_key, webhook_secret } = standalone;
    const started = descendants(standalone.pid);
    expect(started.length).toBeGreaterThan(4);

    standalone.signal('SIGINT');
    standalone.signal('SIGINT');
    expect(await standalone.ended()).toBe(0);
    expect(standalone.output()).toMatch(/Stopping\.\nStopped\.\n$/);
    await waitFor('its processes to end', () => started.every(({ pid }) => !isAlive(pid)));
    expect(existsSync(join(standalone.dataFolder, 'connection.json'))).toBe(false);
    expect(existsSync(join(standalone.dataFolder, 'lock'))).toBe(false);

    await standalone.restart();
    expect(standalone.api_key).toBe(api_key);
    expect(standalone.webhook_secret).toBe(webhook_secret);
    expect(await runApi(standalone).get(run)).toMatchObject({ status: 'success', ended_at: ended.ended_at });
  });

  it.each(['Starting nats-server', 'Starting gateway'])(
    'by Ctrl-C during "%s" ends all processes in order',
    async (step) => {
      const started = spawnStandalone(temporaryFolder(), {});
      await waitFor('the step', () => started.output().includes(step));
      const processes = descendants(started.pid);
      started.signal('SIGINT');
      expect(await started.ended).toBe(0);
      expect(processes.filter(({ pid }) => isAlive(pid))).toEqual([]);
      expect(started.output()).toMatch(/Stopping\.\nStopped\.\n$/);
    },
  );

  it('by kill -9 allows a new start at once, on the same port and data', async () => {
    const run = await runApi(standalone).queue({ size: 16, seconds: 0 });
    await runApi(standalone).ended(run, 30_000);
    const started = descendants(standalone.pid);
    const { url } = standalone;
    await standalone.kill9();
    await standalone.restart();
    expect(standalone.url).toBe(url);
    expect(started.filter(({ pid }) => isAlive(pid))).toEqual([]);
    expect(await runApi(standalone).get(run)).toMatchObject({ status: 'success' });
  });

  it('by kill -9 ends all processes', async () => {
    const started = descendants(standalone.pid);
    await standalone.kill9();
    await waitFor('its processes to end', () => started.every(({ pid }) => !isAlive(pid)), {
      withinMs: 60_000,
    });
    expect(started.filter(({ pid }) => isAlive(pid))).toEqual([]);
  });
});

describe('a start that is refused', () => {
  it('explains that the port is in use, and how to choose another', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
    const folder = temporaryFolder();
    const stale = join(folder, 'connection.json');
    writeFileSync(stale, '{}');
    const refused = spawnStandalone(folder, { RUNLEDGER_PORT: String(address.port) });
    expect(await refused.ended).toBe(1);
    server.close();
    // A killed standalone left it. Nothing listens at its address.
    expect(existsSync(stale)).toBe(false);
    expect(refused.output()).toBe(
      `Port ${address.port} of 127.0.0.1 is taken by another program. ` +
        'Choose another one with RUNLEDGER_PORT, such as RUNLEDGER_PORT=8081 npm start (0 takes any free one).\n',
    );
  });

  it('names all invalid settings at once, without secrets', async () => {
    const refused = spawnStandalone(temporaryFolder(), {
      RUNLEDGER_PORT: 'many',
      RUNLEDGER_API_KEY: 'has a space in it',
    });
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toContain('RUNLEDGER_PORT');
    expect(refused.output()).toContain('RUNLEDGER_API_KEY');
    expect(refused.output()).not.toContain('has a space');
  });
});
