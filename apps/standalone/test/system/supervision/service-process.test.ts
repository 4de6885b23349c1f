import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it, onTestFinished } from 'vitest';
import { awaitReady } from '../../../src/supervision/await-ready.ts';
import { keepRunning } from '../../../src/supervision/keep-running.ts';
import { serviceEnvironment } from '../../../src/supervision/service-environment.ts';
import {
  startService,
  type ServiceProcess,
  type ServiceState,
} from '../../../src/supervision/service-process.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const main = fileURLToPath(new URL('../../fixtures/a-service.ts', import.meta.url));
const HEALTH_TOKEN = 'a-health-token';
const never = new AbortController().signal;

const aService = (does: string) => {
  const printed: string[] = [];
  const logFile = join(temporaryFolder(), 'logs', 'a-service.log');
  const env = serviceEnvironment(process.env, [], { SERVICE_DOES: does });
  const spec = {
    name: 'a-service',
    main,
    env,
    logFile,
    stopWithinMs: 200,
    print: (line: string) => void printed.push(line),
  };
  const log = (): Record<string, unknown>[] => {
    const lines = readFileSync(logFile, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  };
  return { spec, printed, log };
};

const started = (does: string) => {
  const service = aService(does);
  const process = startService(service.spec);
  onTestFinished(() => process.stop());
  return { ...service, process, named: { ...service.spec, healthToken: HEALTH_TOKEN, state: process.state } };
};

describe('a service as a child process', () => {
  it('is ready when /readyz answers 200, logs to its file and shows warnings', async () => {
    const { process, printed, log, named } = started('serve');
    expect(await awaitReady(named, 20_000, never)).toEqual({ ok: true });
    expect(log()).toMatchObject([{ msg: 'up' }]);
    expect(printed).toEqual(['a-service warns: up']);
    await process.stop();
    expect(process.state()).toMatchObject({ kind: 'ended', code: 0 });
  });

  it('gets only the environment that it needs', async () => {
    const { log, named } = started('serve');
    await awaitReady(named, 20_000, never);
    const seen = Object.keys(log()[0]?.['env'] ?? {});
    expect(seen).toContain('SERVICE_DOES');
    expect(seen).not.toContain('VITEST');
  });

  it('that refuses its settings fails at once', async () => {
    const { printed, named } = started('refuse');
    expect(await awaitReady(named, 20_000, never)).toEqual({
      ok: false,
      why: 'a-service refused its settings: see the lines above.',
    });
    expect(printed).toEqual(['a-service: a-service cannot start: PORT is not set.']);
  });

  it('that does not become ready fails with its last answer and its log file', async () => {
    const { named } = started('unready');
    await waitFor('it to listen', () => named.state().kind === 'listening');
    const ready = await awaitReady(named, 300, never);
    expect(ready).toMatchObject({ ok: false, why: expect.stringContaining('/readyz answered 503: unready') });
    expect(ready).toMatchObject({ why: expect.stringContaining(named.logFile) });
  });

  it('that ignores SIGTERM is killed', async () => {
    const { process, named } = started('hang');
    await awaitReady(named, 20_000, never);
    await process.stop();
    expect(process.state()).toMatchObject({ kind: 'ended', how: 'was killed by SIGKILL' });
  });
});

describe('a process that is kept running', () => {
  it('restarts after it ends, with one line about it, and not after a stop', async () => {
    const { spec, printed, log } = aService('serve');
    let latest: ServiceProcess | undefined;
    const state = (): ServiceState => latest?.state() ?? { kind: 'starting' };
    const start = async (): Promise<ServiceProcess> => (latest = startService(spec));
    const supervision = await keepRunning({ name: spec.name, start, print: spec.print });
    await awaitReady({ ...spec, healthToken: HEALTH_TOKEN, state }, 20_000, never);

    process.kill(Number(log()[0]?.['pid']), 'SIGKILL');
    await waitFor('the second one', () => log().length === 2);
    expect(await awaitReady({ ...spec, healthToken: HEALTH_TOKEN, state }, 20_000, never)).toEqual({
      ok: true,
    });
    expect(printed).toContain('a-service was killed by SIGKILL. Restarting it in 0.5 s.');

    await supervision[Symbol.asyncDispose]();
    expect(state()).toMatchObject({ kind: 'ended', code: 0 });
    expect(log()).toHaveLength(2);
  });

  it('whose start fails is started again', async () => {
    const printed: string[] = [];
    const end = Promise.withResolvers<string>();
    let starts = 0;
    const supervision = await keepRunning({
      name: 'a process',
      print: (line) => void printed.push(line),
      start: async () => {
        starts += 1;
        if (starts === 2) throw new Error('no such file');
        return starts === 1
          ? { ended: Promise.resolve('ended'), stop: async () => undefined }
          : { ended: end.promise, stop: async () => end.resolve('was stopped') };
      },
    });
    await waitFor('the third start', () => starts === 3);
    expect(printed).toEqual([
      'a process ended. Restarting it in 0.5 s.',
      'a process did not start: no such file. Restarting it in 1 s.',
    ]);
    await supervision[Symbol.asyncDispose]();
    expect(starts).toBe(3);
  });
});
