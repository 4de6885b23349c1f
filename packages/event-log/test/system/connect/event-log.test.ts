import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats-server';
import { Value } from 'typebox/value';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { brokerConfig, brokerSettings } from '../../../src/connect/broker-config.ts';
import { openEventLog } from '../../../src/connect/event-log.ts';
import { silentLogger } from '../../../src/connect/observability.ts';
import { aLogOnOwnBroker } from '../../fixtures/test-log.ts';

describe('openEventLog', () => {
  it('waits for a broker that has not started yet', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-test-wait-'));
    const placeholder = createServer().listen(0, '127.0.0.1');
    await once(placeholder, 'listening');
    // A TCP server has an address object, no path.
    const { port } = placeholder.address() as AddressInfo;
    placeholder.close();
    await once(placeholder, 'close');

    const opening = openEventLog({ url: `nats://127.0.0.1:${port}`, name: 'early' }, silentLogger);
    const { path: binary } = await findNatsServer({ env: process.env });
    const server = await startNatsServer({ binary, storeDir: folder.path, port });
    try {
      await using log = await opening;
      expect(log.connected()).toBe(true);
    } finally {
      await server.stop();
    }
  });

  it('notices the loss of the broker and reports the reconnect', async () => {
    await using test = await aLogOnOwnBroker();
    let back = 0;
    const off = test.log.onReconnect(() => {
      back += 1;
    });
    await test.nats.kill9();
    await expect.poll(() => test.log.connected(), { timeout: 10_000 }).toBe(false);
    await test.nats.restart();
    await expect.poll(() => back, { timeout: 10_000 }).toBe(1);
    expect(test.log.connected()).toBe(true);
    off();
  });

  it('closes also while the broker is unavailable', async () => {
    await using test = await aLogOnOwnBroker();
    const log = await test.open();
    await test.nats.kill9();
    await log[Symbol.asyncDispose]();
    expect(log.nc.isClosed()).toBe(true);
    expect(log.connected()).toBe(false);
  });
});

describe('the configuration of the broker', () => {
  const Schema = Type.Object(brokerConfig);

  it('accepts the address of a NATS server, and no other URL', () => {
    expect(Value.Check(Schema, { NATS_URL: 'nats://127.0.0.1:4222' })).toBe(true);
    expect(Value.Check(Schema, { NATS_URL: 'http://127.0.0.1' })).toBe(false);
  });

  it('is converted to settings', () => {
    expect(
      brokerSettings({ NATS_URL: 'nats://a:1,nats://b:2', NATS_USER: 'u', NATS_PASSWORD: 'p' }, 'me'),
    ).toEqual({
      url: 'nats://a:1,nats://b:2',
      user: 'u',
      password: 'p',
      name: 'me',
    });
  });
});
