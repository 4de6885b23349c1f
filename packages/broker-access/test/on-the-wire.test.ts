import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats-server';
import { newUserKey } from '@runledger/event-log/connect/user-key';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { tcpProxy } from '@runledger/testing/servers/tcp-proxy';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it, onTestFinished } from 'vitest';
import { brokerConfiguration } from '../src/broker-configuration.ts';
import { operatorUser } from '../src/broker-user.ts';

/** A broker, and who listens between it and its clients. */
const listenedTo = async (authorization: string) => {
  const open = new AsyncDisposableStack();
  onTestFinished(() => open.disposeAsync());
  const { path: storeDir } = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-wire-')));
  const { path: binary } = await findNatsServer({ env: process.env });
  const server = open.use(await startNatsServer({ binary, storeDir, authorization }));
  const proxy = open.use(await tcpProxy(() => server.port));
  return { open, proxy };
};

describe('who listens between a service and the broker', () => {
  it('does not get the key of the service', async () => {
    const { seed, publicKey } = newUserKey();
    const { open, proxy } = await listenedTo(brokerConfiguration([{ user: operatorUser(), publicKey }]));
    // Whatever part of it a chunk would have.
    proxy.holdFrom(seed.slice(2, 22));
    const log = open.use(await openEventLog({ url: proxy.url, name: 'operator', seed }, silentLogger));
    await log.nc.flush();
    expect(proxy.isHolding()).toBe(false);
    proxy.holdFrom(publicKey);
    await log.nc.reconnect();
    await waitFor('the public key, which is sent', () => proxy.isHolding());
    proxy.heal();
  });

  it('gets a password, which is no key', async () => {
    const { proxy } = await listenedTo('authorization { user: "someone", password: "a password" }');
    proxy.holdFrom('a password');
    const opened = openEventLog(
      { url: proxy.url, name: 'someone', user: 'someone', password: 'a password' },
      silentLogger,
    );
    await waitFor('the password', () => proxy.isHolding());
    proxy.heal();
    await using log = await opened;
    await log.nc.flush();
  });
});
