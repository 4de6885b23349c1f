import { existsSync } from 'node:fs';
import { chmod, mkdtempDisposable, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { processesOfRuns } from '../../fixtures/marked-processes.ts';
import { startService, type ServiceTestBed } from './service-test-bed.ts';

/** Loads for half a second, says that each run is done, and leaves a file when it may end by itself. */
const SCRIPT = `sleep 0.5; echo '{"type":"ready"}'
  while IFS='"' read -r _ _ _ _ _ _ _ run_id _; do echo "{\\"type\\":\\"done\\",\\"run_id\\":\\"$run_id\\"}"; done
  touch "$ENDED"`;

const startWithModel = async (ended: string, more: object = {}): Promise<ServiceTestBed> => {
  const model = { command: 'sh', args: ['-c', SCRIPT], env: { ENDED: ended }, mode: 'resident', ...more };
  return startService({ EXECUTOR_GPUS: 'A10G:1', EXECUTOR_PROGRAMS: JSON.stringify({ model }) });
};

const coldStartOf = async (service: ServiceTestBed): Promise<number> => {
  const { run } = await service.assign('model');
  await service.fact(run, 'RunSucceeded');
  const started = await service.fact(run, 'RunStarted');
  return started.type === 'RunStarted' ? started.data.cold_start_s : Number.NaN;
};

describe('a resident program of the service', () => {
  it('is loaded once: RunStarted says how long the run waited for it', async () => {
    await using service = await startWithModel('/dev/null');
    expect(await coldStartOf(service)).toBeGreaterThanOrEqual(0.5);
    expect(await coldStartOf(service)).toBe(0);
    expect(await processesOfRuns(service.workFolder)).toHaveLength(1);
  });

  it('takes the next run after one whose folders could not be made', async () => {
    await using service = await startWithModel('/dev/null');
    await coldStartOf(service);
    await rename(service.workFolder, `${service.workFolder}-away`);
    const { run } = await service.assign('model');
    const failed = await service.fact(run, 'RunFailed');
    await rename(`${service.workFolder}-away`, service.workFolder);
    expect(failed).toMatchObject({ data: { error: { kind: 'internal_error' } } });
    expect(await coldStartOf(service)).toBe(0);
  });

  it('is loaded with the service when it is preloaded', async () => {
    await using service = await startWithModel('/dev/null', { preload: true });
    await waitFor('the end of loading', async () => service.output().includes('a resident process is ready'));
    expect(await coldStartOf(service)).toBe(0);
  });

  it('keeps what a run has written that is over its time limit, and takes the next one', async () => {
    const script = `echo '{"type":"ready"}'; while read -r line; do case "$line" in *'"run"'*) echo begun >&2; printf unended >&2;; esac; done`;
    await using service = await startWithModel('/dev/null', { args: ['-c', script] });
    for (const times of [1, 2]) {
      const { run } = await service.assign('model', { run_timeout_s: 1 });
      const { data } = await service.fact(run, 'RunFailed');
      expect(data).toMatchObject({
        error: { kind: 'run_timeout' },
        log_blob: { sha256: expect.any(String) },
      });
      expect(service.gateway.logs).toHaveLength(times);
      expect(JSON.stringify(service.gateway.logs.at(-1))).toMatch(/"begun".*"unended"/);
    }
  });

  it('keeps what a model has written that did not load by the start deadline, and the next run has the model', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'resident-'));
    await chmod(folder.path, 0o755);
    const loaded = join(folder.path, 'loaded');
    const loads = `until [ -e "$LOADED" ]; do echo 'the host of the weights does not answer' >&2; sleep 0.1; done; ${SCRIPT}`;
    await using service = await startWithModel('/dev/null', {
      args: ['-c', loads],
      env: { ENDED: '/dev/null', LOADED: loaded },
      readable: [folder.path],
      preload: true,
    });
    await waitFor('a line without a run', async () => service.output().includes('of the weights'));
    const start_deadline = { since: new Date().toISOString(), within_s: 3 };
    const { run } = await service.assign('model', { start_deadline });
    const { data } = await service.fact(run, 'RunFailed');
    expect(data).toMatchObject({
      error: { kind: 'start_deadline', message: expect.stringContaining('start deadline of 3 s') },
      log_blob: { sha256: expect.any(String) },
    });
    expect((await service.facts(run)).map(({ type }) => type)).not.toContain('RunStarted');
    expect(JSON.stringify(service.gateway.logs)).toContain('the host of the weights does not answer');
    const [process] = await processesOfRuns(service.workFolder);
    await writeFile(loaded, '');
    expect(await coldStartOf(service)).toBeGreaterThanOrEqual(0);
    expect(await processesOfRuns(service.workFolder)).toEqual([process]);
  });

  it('ends with the service by itself', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'resident-'));
    await chmod(folder.path, 0o777);
    const ended = join(folder.path, 'ended');
    await using service = await startWithModel(ended, { writable: [folder.path] });
    await coldStartOf(service);
    service.kill('SIGTERM');
    expect(await service.exit()).toBe(0);
    expect(existsSync(ended)).toBe(true);
    expect(await processesOfRuns(service.workFolder)).toEqual([]);
  });
});
