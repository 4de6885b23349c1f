import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats-server';
import { waitFor } from '@runledger/testing/wait-for';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { brokerConfiguration, type UserWithKey } from '../src/broker-configuration.ts';
import { operatorUser } from '../src/broker-user.ts';
import { newUserKey } from '@runledger/event-log/connect/user-key';
import { NotAllowed } from '@runledger/event-log/connect/connect-broker';
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
const writing = {
  user: aUser('writer', ['activity.a', 'fleet.a.b.registered']),
  publicKey: keys.writer.publicKey,
};

/** A broker that knows these users, until it reloads its configuration with others. */
const aBroker = async (opened: AsyncDisposableStack, users: readonly UserWithKey[]) => {
  const { path: binary } = await findNatsServer({ env: process.env });
  let authorization = brokerConfiguration(users).trim();
  const server = opened.use(await startNatsServer({ binary, storeDir, authorization }));
  const file = join(storeDir, 'nats-server.conf');
  return {
    open: async (user: keyof typeof keys): Promise<EventLog> => {
      const settings = { url: server.url, name: user, seed: keys[user].seed };
      return opened.use(await openEventLog(settings, silentLogger));
    },
    reload: async (others: readonly UserWithKey[]): Promise<void> => {
      const [before, after] = [authorization, brokerConfiguration(others).trim()];
      const text = await readFile(file, 'utf8');
      await writeFile(
        file,
        text.replace(before, () => after),
      );
      authorization = after;
      server.kill('SIGHUP');
    },
  };
};

describe('a new user of a running broker', () => {
  it('may connect after the broker has reloaded its configuration, twice, and others receive its messages', async () => {
    await using opened = new AsyncDisposableStack();
    const { open, reload } = await aBroker(opened, present);
    await provision(await open('operator'));
    const reader = await open('reader');
    const received: string[] = [];
    reader.nc.subscribe('activity.>', { callback: (_error, { subject }) => void received.push(subject) });
    await reader.nc.flush();
    await expect(open('writer')).rejects.toThrow('rejected writer as');

    await reload([...present, writing]);
    const writer = await waitFor('the writer to be let in', () => open('writer'));
    await reload([...present, writing]);
    await waitFor('the log to take a fact', () => writer.js.publish('fleet.a.b.registered', '{}'));
    await waitFor('progress to arrive', () => {
      writer.nc.publish('activity.a', '{}');
      return received.includes('activity.a');
    });
    expect(reader.connected()).toBe(true);
  });
});

describe('a user that a running broker no longer knows', () => {
  it('is rejected, also while it connects; what was connected is so again once the broker knows it', async () => {
    await using opened = new AsyncDisposableStack();
    const { open, reload } = await aBroker(opened, [...present, writing]);
    const writer = await open('writer');
    const reloaded = reload(present);
    // One connection after the other, without a pause, from before the broker reads its configuration.
    const connecting = async (): Promise<never> => {
      for (;;) await open('writer');
    };
    await expect(connecting()).rejects.toThrow(NotAllowed);
    await reloaded;
    await waitFor('it to be disconnected', () => !writer.connected());
    await reload([...present, writing]);
    await waitFor('it to be connected again', () => writer.connected());
    await open('writer');
  });
});
