import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { executorId } from '@runledger/contracts/ids';
import { lastProgress } from '@runledger/event-log/streams/activity';
import { parseFleetEvent } from '@runledger/contracts/events/fleet-event';
import { programFile } from '@runledger/service-kit/program-file';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { consumeAddressed } from '../../../src/attempt/executor-log.ts';
import type { Executor } from '../../../src/attempt/executor.ts';
import { startService, type ServiceTestBed } from './service-test-bed.ts';

const ignore: Executor['handle'] = () => ({ kind: 'accepted' });

const main = programFile(fileURLToPath(new URL('../../../src/main.ts', import.meta.url)));

/** An executor that is expected to end by itself. */
const runMain = async (env: Record<string, string>): Promise<{ code: number | null; output: string }> => {
  const child = spawn(process.execPath, [main], {
    env: { ...process.env, RUNLEDGER_HEALTH_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(child, 'close');
  return { code: child.exitCode, output };
};

const fleetOf = async ({ log, executor }: ServiceTestBed): Promise<string[]> => {
  const types: string[] = [];
  for (const fact of ['registered', 'draining', 'left']) {
    const message = await log.jsm.streams.getMessage('FLEET', { last_by_subj: `fleet.${executor}.${fact}` });
    const parsed = message === null ? undefined : parseFleetEvent(message.json());
    if (parsed?.kind === 'event') types.push(parsed.event.type);
  }
  return types;
};

describe('a stop', () => {
  it('lets runs finish, leaves the fleet and ends with exit code 0', async () => {
    // Of the 5 s of the other tests a run would get 2 s, which a busy machine may need to start its program.
    await using service = await startService({ RUNLEDGER_STOP_WITHIN_S: '30' });
    const { run } = await service.assign('render');
    await service.fact(run, 'RunStarted');
    service.kill('SIGTERM');
    expect(await service.exit()).toBe(0);
    expect((await service.facts(run)).at(-1)?.type).toBe('RunSucceeded');
    expect(await fleetOf(service)).toEqual(['ExecutorRegistered', 'ExecutorDraining', 'ExecutorLeft']);
  });

  it('kills runs that do not finish, stores nothing about them, and leaves them to the scheduler', async () => {
    await using service = await startService();
    const { run } = await service.assign('stubborn');
    await waitFor('progress', () => lastProgress(service.log, run, 1, service.executor));
    service.kill('SIGTERM');
    expect(await service.exit()).toBe(0);
    expect((await service.facts(run)).at(-1)?.type).toBe('RunStarted');
    expect((await fleetOf(service)).at(-1)).toBe('ExecutorLeft');
  });
});

describe('a name that two executors share', () => {
  it('stays with the executor that runs; the other one logs it and does not start', async () => {
    await using service = await startService({ EXECUTOR_NAME: 'gpu box' });
    const { run } = await service.assign('busy');
    await waitFor('progress', () => lastProgress(service.log, run, 1, service.executor));
    await using folder = await mkdtempDisposable(join(tmpdir(), 'gpu-executor-work-'));
    const second = await runMain({
      NATS_URL: service.nats.url,
      EXECUTOR_NAME: 'gpu-box',
      EXECUTOR_GPUS: 'A10G:1',
      EXECUTOR_WORK_DIR: folder.path,
    });
    expect(second.code).toBe(1);
    expect(second.output).toContain(`Another executor named gpu-box is running (${service.executor})`);
    expect(second.output).toContain('its own EXECUTOR_NAME');
    expect(await service.ready()).toBe(true);
    expect((await service.facts(run)).at(-1)?.type).toBe('RunStarted');
  });

  it('can be lost to another executor: the first one logs it and ends with its runs', async () => {
    await using service = await startService({ EXECUTOR_NAME: 'gpu box' });
    const { run } = await service.assign('busy');
    await waitFor('progress', () => lastProgress(service.log, run, 1, service.executor));
    await service.log.jsm.consumers.update('RUNS', 'executor-gpu-box', {
      metadata: { owner: 'gpu-box.ffffffffffff' },
    });
    expect(await service.exit()).not.toBe(0);
    expect(service.output()).toContain('Another executor named gpu-box has taken over');
    expect(service.output()).toContain('its own EXECUTOR_NAME');
    expect((await service.facts(run)).at(-1)?.type).toBe('RunStarted');
  });

  it('is free after its executor was killed', async () => {
    await using service = await startService({ EXECUTOR_NAME: 'gpu box' });
    service.kill('SIGKILL');
    await service.exit();
    const other = executorId('gpu-box.ffffffffffff');
    const { signal } = new AbortController();
    await using next = await consumeAddressed(service.log, other, ignore, signal, () => undefined);
    expect(next.state()).toEqual({ ok: true });
  });
});

describe('a start', () => {
  it('kills processes that a killed executor with the same work folder left behind', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'gpu-executor-work-'));
    const env = { EXECUTOR_WORK_DIR: folder.path, EXECUTOR_ISOLATION: 'off' };
    await using killed = await startService(env);
    const { run } = await killed.assign('astray');
    await waitFor('progress', () => lastProgress(killed.log, run, 1, killed.executor));
    killed.kill('SIGKILL');
    await killed.exit();
    await using next = await startService(env);
    expect(next.output()).toMatch(/"killed":\[\d+\].*left processes behind; they are killed/);
    expect(next.output()).toContain('folders of ended attempts are removed');
  });

  it('reports all invalid settings at once, and ends with exit code 78', async () => {
    const formats = await runMain({
      EXECUTOR_CANCEL_GRACE_S: 'soon',
      RUNLEDGER_GATEWAY_URL: 'gateway',
      NATS_PASSWORD: 'hunter2',
      EXECUTOR_GPUS: 'T4:0',
    });
    expect(formats.code).toBe(78);
    expect(formats.output).toContain('EXECUTOR_CANCEL_GRACE_S = "soon" is not a number');
    expect(formats.output).toContain('RUNLEDGER_GATEWAY_URL');
    expect(formats.output).toContain('EXECUTOR_GPUS counts "0" of T4');
    expect(formats.output).not.toContain('hunter2');
    const capabilities = await runMain({
      EXECUTOR_GPUS: 'RTX 4090',
      EXECUTOR_PROGRAMS: '{"render": ["no-such-command"]}',
    });
    expect(capabilities.code).toBe(78);
    expect(capabilities.output).toContain('EXECUTOR_GPUS has the model "RTX 4090"');
    expect(capabilities.output).toContain('no-such-command is in no folder of PATH');
  });
});
