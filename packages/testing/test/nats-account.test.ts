import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { testAccount, type TestAccount } from '../src/servers/nats-account.ts';

const MORE_THAN_TWO_BROKERS_HAVE = 60;

const connectTo = ({ login: { url, user = '', password = '' } }: TestAccount): Promise<NatsConnection> =>
  connect({ servers: url, user, pass: password, reconnect: false, timeout: 2_000 });

describe('an account for a test', () => {
  it('shows nothing of the account before it at the same broker', async () => {
    await using one = await testAccount();
    await using two = await testAccount();
    const connections = [await connectTo(one), await connectTo(two)] as const;
    const [first, second] = [await jetstreamManager(connections[0]), await jetstreamManager(connections[1])];
    await first.streams.add({ name: 'FACTS', subjects: ['facts.>'], max_bytes: 2 ** 40 });
    expect(await second.streams.names().next()).toEqual([]);
    const { state } = await second.streams.add({ name: 'FACTS', subjects: ['facts.>'], max_bytes: 2 ** 40 });
    expect(state.messages).toBe(0);
    for (const connection of connections) await connection.close();
  });

  it('refuses a client without its password', async () => {
    await using account = await testAccount();
    await expect(connect({ servers: account.url, reconnect: false })).rejects.toThrow(/authorization/i);
  });

  it('keeps its broker running until every account of the broker was given out and disposed of', async () => {
    await using later = new AsyncDisposableStack();
    const first = later.use(await testAccount());
    const between: TestAccount[] = [];
    for (let count = 0; count < MORE_THAN_TWO_BROKERS_HAVE; count += 1) between.push(await testAccount());
    const last = later.use(await testAccount());

    const ended = between.filter(({ url }) => url !== first.url && url !== last.url);
    for (const account of between) await account[Symbol.asyncDispose]();
    expect(ended.length).toBeGreaterThan(0);
    for (const account of ended) await expect(connectTo(account)).rejects.toThrow(/refused/);
    for (const account of [first, last]) await (await connectTo(account)).close();
  });
});
