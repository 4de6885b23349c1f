import { relative } from 'node:path';
import { append } from '@runledger/event-log/append/append';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { head } from '@runledger/event-log/read/read-run';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats-server';
import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { aFolder } from '../fixtures/config-folder.ts';
import { cliWith } from '../fixtures/run-cli.ts';

const started = async (open: AsyncDisposableStack) => {
  const folder = aFolder();
  await folder.run('--executor', 'gpu-1');
  const { path: binary } = await findNatsServer({ env: process.env });
  const storeDir = folder.at('store');
  const authorization = `include '${relative(storeDir, folder.at('broker.conf'))}'`;
  return { folder, server: open.use(await startNatsServer({ binary, storeDir, authorization })) };
};

describe('a nats-server that includes broker.conf', () => {
  it('accepts its users, and their changes without a restart', async () => {
    await using open = new AsyncDisposableStack();
    const { folder, server } = await started(open);
    const connect = async (user: string, seed = folder.seed(user)): Promise<EventLog> =>
      openEventLog({ url: server.url, name: user, seed }, silentLogger);
    const isAccepted = async (user: string, seed?: string): Promise<boolean> => {
      const log = await connect(user, seed).catch(() => undefined);
      await log?.[Symbol.asyncDispose]();
      return log !== undefined;
    };
    const operator = await cliWith({
      RUNLEDGER_NATS_URL: server.url,
      RUNLEDGER_NATS_NKEY_FILE: folder.at('keys', 'operator.nk'),
    })(['provision']);
    expect(operator).toMatchObject({ code: 0 });
    const gateway = open.use(await connect('gateway'));
    expect((await gateway.jsm.streams.info('RUNS')).config.name).toBe('RUNS');
    const [first, scheduler] = [folder.seed('executor-gpu-1'), folder.seed('scheduler')];
    expect(await isAccepted('executor-gpu-1')).toBe(true);

    await folder.run('--executor', 'gpu-2', '--remove', 'gpu-1', '--rotate', 'scheduler');
    server.kill('SIGHUP');
    await waitFor('the broker to accept the new executor', () => isAccepted('executor-gpu-2'));
    expect(await isAccepted('executor-gpu-1', first)).toBe(false);
    expect(await isAccepted('scheduler', scheduler)).toBe(false);
    expect(await isAccepted('scheduler')).toBe(true);
    await waitFor('the gateway to continue', async () =>
      gateway.jsm.streams.info('RUNS').then(
        () => true,
        () => false,
      ),
    );
  });

  it('ends the flood of a hostile executor at once when its key is removed, and the run goes on', async () => {
    await using open = new AsyncDisposableStack();
    const { folder, server } = await started(open);
    const connect = async (user: string): Promise<EventLog> =>
      open.use(await openEventLog({ url: server.url, name: user, seed: folder.seed(user) }, silentLogger));
    const env = {
      RUNLEDGER_NATS_URL: server.url,
      RUNLEDGER_NATS_NKEY_FILE: folder.at('keys', 'operator.nk'),
    };
    expect(await cliWith(env)(['provision'])).toMatchObject({ code: 0 });
    const [gateway, scheduler, hostile] = [
      await connect('gateway'),
      await connect('scheduler'),
      await connect('executor-gpu-1'),
    ];
    const run = aRun();
    expect(await append(gateway, queued(run), 0)).toMatchObject({ kind: 'appended' });
    // Without a fence, so each is stored, and moves the head of the run.
    const subject = `runs.${run.org_id}.${run.run_id}.life.started.executor.1.gpu-1.000000000001`;
    const over = new AbortController();
    const flood = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const sent = Array.from({ length: 64 }, () => hostile.nc.request(subject, '{}', { timeout: 2_000 }));
        await Promise.allSettled(sent);
      }
    };
    const flooded = flood();
    const isAssigned = async (): Promise<boolean> => {
      const before = await head(scheduler, run);
      return (await append(scheduler, assigned(run), before)).kind === 'appended';
    };
    const strays = async (): Promise<number> => (await gateway.jsm.streams.info('RUNS')).state.messages;
    const atFirst = await strays();
    await waitFor('the flood', async () => (await strays()) > atFirst + 1_000);
    await waitFor('the run to be held up', async () => !(await isAssigned()));

    await folder.run('--remove', 'gpu-1');
    server.kill('SIGHUP');
    await waitFor('the run to be assigned', isAssigned);
    const atLast = await strays();
    for (let n = 0; n < 100; n += 1) await gateway.nc.flush();
    expect(await strays()).toBe(atLast);
    over.abort();
    await hostile.nc.close();
    await flooded;
  });
});
