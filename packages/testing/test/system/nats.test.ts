import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { testNats } from '../../src/servers/nats.ts';

describe("a test's own nats-server", () => {
  it('keeps acknowledged messages over a kill -9 and a restart on the same port', async () => {
    await using nats = await testNats();
    const before = await connect({ servers: nats.url, reconnect: false });
    await (await jetstreamManager(before)).streams.add({ name: 'FACTS', subjects: ['facts.>'] });
    await jetstream(before).publish('facts.one', 'kept');

    await nats.kill9();
    await before.closed();
    await nats.restart();

    const after = await connect({ servers: nats.url });
    const stored = await (await jetstreamManager(after)).streams.getMessage('FACTS', { seq: 1 });
    expect(stored?.string()).toBe('kept');
    await after.close();
  });

  it('can be restarted while it runs', async () => {
    await using nats = await testNats();
    const before = await connect({ servers: nats.url, reconnect: false });
    await nats.restart();
    await before.closed();
    const after = await connect({ servers: nats.url });
    expect(after.isClosed()).toBe(false);
    await after.close();
  });

  it('answers nothing while it is paused, and everything after it', async () => {
    await using nats = await testNats();
    const connection = await connect({ servers: nats.url });
    await nats.pause();
    const answered: string[] = [];
    const flushed = connection.flush().then(() => answered.push('flushed'));
    await expect(connect({ servers: nats.url, timeout: 300, reconnect: false })).rejects.toThrow(/timeout/);
    expect(answered).toEqual([]);
    nats.resume();
    await flushed;
    await connection.close();
  });

  it('requires the configured credentials', async () => {
    await using nats = await testNats({ authorization: 'authorization { user: "a", password: "b" }' });
    await expect(connect({ servers: nats.url, reconnect: false })).rejects.toThrow(/authorization/i);
    await (await connect({ servers: nats.url, user: 'a', pass: 'b' })).close();
  });

  it('runs beside others, and ends on dispose', async () => {
    const one = await testNats();
    const two = await testNats();
    expect(one.port).not.toBe(two.port);
    await two[Symbol.asyncDispose]();
    await expect(connect({ servers: two.url, reconnect: false, timeout: 500 })).rejects.toThrow(/refused/);
    await one[Symbol.asyncDispose]();
  });
});
