import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { follow } from '@runledger/event-log/follow/follow';
import { withFreshReads } from '@runledger/event-log/read/fresh-reads';
import { awaitProvisioned, provision } from '@runledger/event-log/provision/provision';
import { testNatsCluster } from '@runledger/testing/servers/nats-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ephemeralConsumers, streamInfo } from '../../src/api-subjects.ts';
import { aUser, configured } from '../a-user.ts';

const opened = new AsyncDisposableStack();
let operator: EventLog;
/** In another account than the log; one for each server. */
let readers: readonly EventLog[];
const warnings: string[] = [];

beforeAll(async () => {
  const { authorization, keys } = configured(
    aUser('reader', [streamInfo('RUNS'), ...ephemeralConsumers('RUNS')]),
  );
  const cluster = opened.use(await testNatsCluster({ authorization }));
  const logOf = async (user: string, url: string): Promise<EventLog> => {
    const seed = keys.get(user)?.seed ?? '';
    const warn = (fields: object): void => void ('err' in fields && warnings.push(String(fields.err)));
    return opened.use(await openEventLog({ url, name: user, seed }, { ...silentLogger, warn }));
  };
  operator = await logOf('operator', cluster.url);
  await provision(operator, { replicas: 3 });
  await awaitProvisioned(operator);
  readers = await Promise.all(cluster.servers.map(({ url }) => logOf('reader', url)));
}, 120_000);
afterAll(() => opened.disposeAsync());

/** The broker chooses the server of a consumer at random. Of these, some are at another server than their reader. */
const FOLLOWERS_PER_READER = 4;

/** Follows RUNS until this sequence. */
const readUntil = async (log: EventLog, last: number): Promise<void> => {
  const done = Promise.withResolvers<void>();
  await using following = await follow(log, {
    stream: 'RUNS',
    subjects: ['runs.>'],
    after: 0,
    onBatch: async (messages) => {
      if (messages.at(-1)?.sequence === last) done.resolve();
    },
  });
  void following.failed.then(done.reject);
  await done.promise;
};

/** Why followers were interrupted until each had read up to this sequence. */
const interruptionsUntil = async (last: number): Promise<readonly string[]> => {
  warnings.length = 0;
  for (const reader of readers) {
    for (let n = 0; n < FOLLOWERS_PER_READER; n += 1) await readUntil(reader, last);
  }
  // A broker may not know of a new consumer at another one for a moment. The reader opens the next one then.
  return warnings.filter((why) => !why.includes('no responders'));
};

describe('a user of a cluster, in another account than the log', () => {
  it('is not interrupted by a read marker', async () => {
    const gateway = withFreshReads(operator, () => performance.now());
    const marker = await gateway.freshSequence?.();
    const { seq } = await operator.js.publish('runs.o.r.life.queued.gateway.0.none', '{}');
    expect(seq).toBe((marker ?? 0) + 1);
    expect(await interruptionsUntil(seq)).toEqual([]);
  });

  it('reads on behind a message without payload and headers, before it misses heartbeats', async () => {
    await operator.js.publish('runs.o.r.life.queued.gateway.0.none');
    const { seq } = await operator.js.publish('runs.o.r.life.queued.gateway.0.none', '{}');
    const interruptions = await interruptionsUntil(seq);
    expect(interruptions.filter((why) => !why.includes('an empty message may have ended'))).toEqual([]);
  });
});
