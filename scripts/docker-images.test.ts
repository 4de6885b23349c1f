import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@runledger/local-servers/free-port';
import { testNats } from '@runledger/testing/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { replay } from './docker/replay.ts';
import type { Replayed } from './docker/replay.ts';
import { members } from './docker/workspaces.ts';

const SERVICES = ['gateway', 'scheduler', 'gpu-executor', 'notifier'];
const KEY = Buffer.alloc(32, 1).toString('base64');
const READY_WITHIN_MS = 60_000;

const run = promisify(execFile);
const filesIn = (folder: string): string[] =>
  globSync('**', { cwd: folder, exclude: (path) => path.endsWith('node_modules') }).toSorted();

const start = (image: Replayed, env: Readonly<Record<string, string>>) => {
  const [command = '', ...args] = image.entrypoint;
  const child = spawn(command, args, { cwd: image.folder, env, stdio: 'ignore' });
  const ended = once(child, 'exit');
  return {
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
};

it('what the images hold is enough to run the sample to success, and nothing is written there', async () => {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'runledger-images-'));
  await using nats = await testNats();
  const surroundings = { PATH: process.env['PATH'] ?? '', HOME: temporary.path };
  const publicUrl = `http://127.0.0.1:${await freePort()}`;
  const given: Readonly<Record<string, string>> = {
    NATS_URL: nats.url,
    RUNLEDGER_VIEWS: 'memory',
    RUNLEDGER_HOST: '127.0.0.1',
    RUNLEDGER_PORT: new URL(publicUrl).port,
    RUNLEDGER_PUBLIC_URL: publicUrl,
    RUNLEDGER_GATEWAY_URL: publicUrl,
    RUNLEDGER_SECRET_KEYS: KEY,
    EXECUTOR_GPUS: 'A10G:1',
    EXECUTOR_WORK_DIR: join(temporary.path, 'work'),
  };
  const imageOf = (file: string, target?: string): Replayed =>
    replay(`${file}/Dockerfile`, join(temporary.path, file), target);

  const cli = imageOf('apps/cli');
  const runledger = async (
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<string> => {
    const [command = '', ...first] = cli.entrypoint;
    const { stdout } = await run(command, [...first, ...args], {
      cwd: cli.folder,
      env: { ...surroundings, ...env },
    });
    return stdout;
  };
  await runledger(['provision'], { RUNLEDGER_NATS_URL: nats.url });
  const created = await runledger(['organisations', 'create', 'me', '--json'], {
    RUNLEDGER_NATS_URL: nats.url,
  });
  const { api_key, deployment_id } = members(JSON.parse(created));

  using open = new DisposableStack();
  const started = await Promise.all(
    SERVICES.map(async (name) => {
      const image = imageOf(`services/${name}`, name === 'gpu-executor' ? 'with-sample' : undefined);
      const RUNLEDGER_HEALTH_PORT = String(await freePort());
      const before = filesIn(image.folder);
      const env = { ...surroundings, ...image.env, ...given, RUNLEDGER_HEALTH_PORT };
      return { name, image, before, env, service: open.use(start(image, env)) };
    }),
  );
  const isHealthy = async ({ image, env }: (typeof started)[number]): Promise<boolean> => {
    const [, ...args] = image.healthcheck;
    return run(process.execPath, args, { cwd: image.folder, env }).then(
      () => true,
      () => false,
    );
  };
  for (const each of started)
    await waitFor(`${each.name} to be healthy`, () => isHealthy(each), { withinMs: READY_WITHIN_MS });

  const connection = { RUNLEDGER_URL: `${publicUrl}/api`, RUNLEDGER_API_KEY: String(api_key) };
  const queue = ['queue', '--watch', '--deployment', String(deployment_id), '--input', 'seconds=1'];
  expect(await runledger(queue, connection)).toContain('/outputs/');

  expect(await Promise.all(started.map(({ service }) => service.stop()))).toEqual(
    SERVICES.map(() => [0, null]),
  );
  for (const { image, before } of started) expect(filesIn(image.folder)).toEqual(before);
}, 120_000);
