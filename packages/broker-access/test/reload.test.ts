import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats-server';
import { waitFor } from '@runledger/testing/wait-for';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { brokerConfiguration } from '../src/broker-configuration.ts';
import { operatorUser } from '../src/broker-user.ts';
import { newUserKey } from '@runledger/event-log/connect/broker-config';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { aUser } from './a-user.ts';

let storeDir: string;
beforeEach(async () => {
  storeDir = await mkdtemp(join(tmpdir(), 'runledger-reload-'));
});
afterEach(() => rm(storeDir, { recursive: true, force: true }));

const keys = { operator: newUserKey(), reader: newUserKey(), writer: newUserKey() };
const present = [
  { user: operatorUser(), publicKey: keys.operator.publicKey },
  { user: aUser('reader', ['runs.none'], ['activity.>']), publicKey: keys.reader.publicKey },
];
const joining = {
  user: aUser('writer', ['activity.a', 'fleet.a.b.registered']),
  publicKey: keys.writer.publicKey,
};

describe('a new user of a running broker', () => {
  it('may connect after the broker has reloaded its configuration, twice, and others receive its messages', async () => {
    const { path: binary } = await findNatsServer({ env: process.env });
    const before = brokerConfiguration(present).trim();
    await using server = await startNatsServer({ binary, storeDir, authorization: before });
    await using opened = new AsyncDisposableStack();
    const open = async (user: keyof typeof keys): Promise<EventLog> => {
      const settings = { url: server.url, name: user, seed: keys[user].seed };
      return opened.use(await openEventLog(settings, silentLogger));
    };
    await provision(await open('operator'));
    const reader = await open('reader');
    const received: string[] = [];
    reader.nc.subscribe('activity.>', { callback: (_error, { subject }) => void received.push(subject) });
    await reader.nc.flush();
    await expect(open('writer')).rejects.toThrow('rejected writer as');

    const file = join(storeDir, 'nats-server.conf');
    const after = brokerConfiguration([...present, joining]).trim();
    await writeFile(
      file,
      (await readFile(file, 'utf8')).replace(before, () => after),
    );
    server.kill('SIGHUP');
    const writer = await waitFor('the writer to be let in', () => open('writer'));
    server.kill('SIGHUP');
    await waitFor('the log to take a fact', () => writer.js.publish('fleet.a.b.registered', '{}'));
    await waitFor('progress to arrive', () => {
      writer.nc.publish('activity.a', '{}');
      return received.includes('activity.a');
    });
    expect(reader.connected()).toBe(true);
  });
});
