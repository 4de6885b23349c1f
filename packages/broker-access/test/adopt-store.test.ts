import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer, startNatsServer } from '@runledger/local-servers/nats/nats-server';
import { aRun, queued } from '@runledger/testing/events/run-events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adoptStore } from '../src/adopt-store.ts';
import { append } from '@runledger/event-log/append/append';
import { openEventLog, type BrokerSettings, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { provision } from '@runledger/event-log/provision/provision';
import { readRun } from '@runledger/event-log/read/read-run';
import { configured } from './a-user.ts';

let storeDir: string;
beforeEach(async () => {
  storeDir = await mkdtemp(join(tmpdir(), 'runledger-adopt-'));
});
afterEach(() => rm(storeDir, { recursive: true, force: true }));

const withServer = async (
  authorization: string | undefined,
  settings: Omit<BrokerSettings, 'url'>,
  work: (log: EventLog) => Promise<void>,
): Promise<void> => {
  const { path: binary } = await findNatsServer({ env: process.env });
  await using server = await startNatsServer({
    binary,
    storeDir,
    ...(authorization === undefined ? {} : { authorization }),
  });
  await using log = await openEventLog({ url: server.url, ...settings }, silentLogger);
  await work(log);
};

describe('what a broker without accounts stored', () => {
  it('is there for the operator once it is adopted', async () => {
    const run = aRun();
    await withServer(undefined, { name: 'before' }, async (log) => {
      await provision(log);
      await append(log, queued(run), 0);
    });
    expect(await adoptStore(storeDir)).toBe(true);
    const { authorization, keys } = configured();
    const seed = keys.get('operator')?.seed ?? '';
    await withServer(authorization, { name: 'after', seed }, async (log) => {
      await provision(log);
      expect(await readRun(log, run)).toMatchObject({ kind: 'found', run: { status: 'queued' } });
    });
    expect(await adoptStore(storeDir)).toBe(false);
  });

  it('is nothing in a new folder', async () => {
    expect(await adoptStore(storeDir)).toBe(false);
  });
});
