import { relative } from 'node:path';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { findNatsServer } from '@runledger/local-servers/nats/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats/nats-server';
import { waitFor } from '@runledger/testing/time/wait-for';
import { describe, expect, it } from 'vitest';
import { aFolder } from '../fixtures/config-folder.ts';
import { cliWith } from '../fixtures/run-cli.ts';

describe('a nats-server that includes broker.conf', () => {
  it('accepts its users, and their changes without a restart', async () => {
    const folder = aFolder();
    await folder.run('--executor', 'gpu-1');
    await using open = new AsyncDisposableStack();
    const { path: binary } = await findNatsServer({ env: process.env });
    const storeDir = folder.at('store');
    const authorization = `include '${relative(storeDir, folder.at('broker.conf'))}'`;
    const server = open.use(await startNatsServer({ binary, storeDir, authorization }));
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
});
