import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@runledger/local-servers/free-port';
import { testNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/time/wait-for';
import { expect, it } from 'vitest';
import { makeComposeSecrets } from '../../deploy/compose-secrets.ts';
import { environmentWith, readCompose, servicesOf } from '../deploy/read-compose.ts';
import { replay } from '../deploy/replay.ts';
import type { Replayed } from '../deploy/replay.ts';
import { runSample } from './run-sample.ts';

const SERVICES = ['gateway', 'scheduler', 'gpu-executor', 'notifier'];
const READY_WITHIN_MS = 120_000;

const run = promisify(execFile);
const filesIn = (folder: string): string[] =>
  globSync('**', { cwd: folder, exclude: (path) => path.endsWith('node_modules') }).toSorted();

const start = (image: Replayed, env: Readonly<Record<string, string>>) => {
  const [command = '', ...args] = image.entrypoint;
  const child = spawn(command, args, { cwd: image.folder, env });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)));
  const ended = once(child, 'close');
  return {
    ended: ended.then(() => `it ended: ${said}`),
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
};

it('what the images hold, with the settings and secrets of docker-compose.yml, runs the sample to success; nothing is written there', async () => {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'runledger-images-'));
  const secrets = join(temporary.path, 'secrets');
  await makeComposeSecrets(secrets);
  await using nats = await testNats({
    authorization: await readFile(join(secrets, 'nats', 'broker.conf'), 'utf8'),
  });
  const compose = readCompose('docker-compose.yml');
  const services = servicesOf(compose);
  const settingsOf = (name: string): Record<string, string> =>
    environmentWith(compose, services.get(name) ?? {}, secrets);

  const surroundings = { PATH: process.env['PATH'] ?? '', HOME: temporary.path };
  const publicUrl = `http://127.0.0.1:${await freePort()}`;
  /** What is elsewhere here: there are no networks of containers, and no MongoDB. */
  const here: Readonly<Record<string, string>> = {
    NATS_URL: nats.url,
    RUNLEDGER_NATS_URL: nats.url,
    RUNLEDGER_VIEWS: 'memory',
    RUNLEDGER_HOST: '127.0.0.1',
    RUNLEDGER_PORT: new URL(publicUrl).port,
    RUNLEDGER_PUBLIC_URL: publicUrl,
    RUNLEDGER_GATEWAY_URL: publicUrl,
    EXECUTOR_WORK_DIR: join(temporary.path, 'work'),
  };
  const imageOf = (file: string, target?: string): Replayed =>
    replay(`${file}/Dockerfile`, join(temporary.path, file), target);

  const cli = imageOf('apps/cli');
  const runledger = async (...args: readonly string[]): Promise<string> => {
    const [command = '', ...first] = cli.entrypoint;
    const env = { ...surroundings, ...settingsOf('runledger'), ...here };
    const { stdout } = await run(command, [...first, ...args], { cwd: cli.folder, env });
    return stdout;
  };
  await runledger('provision');
  const created = await runledger('organisations', 'create', 'me', '--json');

  using open = new DisposableStack();
  const started = await Promise.all(
    SERVICES.map(async (name) => {
      const image = imageOf(`services/${name}`, name === 'gpu-executor' ? 'with-sample' : undefined);
      const RUNLEDGER_HEALTH_PORT = String(await freePort());
      const before = filesIn(image.folder);
      const env = { ...surroundings, ...image.env, ...settingsOf(name), ...here, RUNLEDGER_HEALTH_PORT };
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
  for (const each of started) {
    const healthy = waitFor(`${each.name} to be healthy`, () => isHealthy(each), {
      withinMs: READY_WITHIN_MS,
    });
    expect(await Promise.race([healthy, each.service.ended])).toBe(true);
  }

  expect(await runSample(`${publicUrl}/api`, created)).toMatchObject({ status: 'success' });

  expect(await Promise.all(started.map(({ service }) => service.stop()))).toEqual(
    SERVICES.map(() => [0, null]),
  );
  for (const { image, before } of started) expect(filesIn(image.folder)).toEqual(before);
}, 300_000);
