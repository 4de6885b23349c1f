import { ALL_LIFECYCLES } from '@runledger/contracts/events/subjects';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '../../../src/connect/event-log.ts';
import { follow } from '../../../src/follow/follow.ts';
import { createdAt } from '../../../src/read/stream-identity.ts';
import { provision } from '../../../src/provision/provision.ts';
import { queueRuns, numbers, sequencesOf } from '../../fixtures/queued-runs.ts';
import { copyStream, restoreStream } from '../../fixtures/stream-copy.ts';
import { aClusterLog, type ClusterLog } from '../../fixtures/cluster-log.ts';

let cluster: ClusterLog;
let log: EventLog;

beforeAll(async () => {
  cluster = await aClusterLog();
  ({ log } = cluster);
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

/** Resolves when this server leads RUNS, and gives the time of creation that the broker says then. */
const ledBy = (server: string): Promise<string> =>
  waitFor(
    `${server} to lead RUNS`,
    async () => {
      const { cluster: brokers, created } = await log.jsm.streams.info('RUNS');
      if (brokers?.leader === server) return created;
      const wanted = JSON.stringify({ placement: { preferred: server } });
      // While nobody leads, nobody answers.
      const answer = await log.nc.request('$JS.API.STREAM.LEADER.STEPDOWN.RUNS', wanted, { timeout: 1_000 });
      throw new Error(`${JSON.stringify(brokers)} was asked to step down, and said: ${answer.string()}`);
    },
    { withinMs: 60_000 },
  );

describe('a stream that was restored from a snapshot', () => {
  it('is the same for its readers, whichever of its replicas leads', { timeout: 180_000 }, async () => {
    const before = await queueRuns(log, 3);
    const created = await createdAt(log, 'RUNS');
    const copy = await copyStream(log, 'RUNS');
    await log.jsm.streams.delete('RUNS');
    await restoreStream(log, copy);

    const seen: number[] = [];
    await using following = await follow(log, {
      stream: 'RUNS',
      subjects: [ALL_LIFECYCLES],
      after: 0,
      onBatch: async (messages) => void seen.push(...sequencesOf(messages)),
    });
    const toldByBroker = new Set<string>();
    let last = before;
    for (const server of ['n0', 'n1', 'n2']) {
      toldByBroker.add(await ledBy(server));
      expect(await createdAt(log, 'RUNS')).toBe(created);
      // So that the follower asks the new leader for the next run.
      const readers = await log.jsm.consumers.list('RUNS').next();
      for (const { name } of readers) await log.jsm.consumers.delete('RUNS', name);
      last = await queueRuns(log, 1);
      const hasReadOn = (): boolean => following.position() === last && following.state().ok;
      await waitFor('the follower to read on', hasReadOn, { withinMs: 30_000 });
    }
    // nats-server 2.15.1 gives the restored copy and its replicas different times.
    expect(toldByBroker.size).toBeGreaterThan(1);
    expect(seen).toEqual(numbers(1, last));
  });

  it('is another one when it was made again instead', { timeout: 60_000 }, async () => {
    const created = await createdAt(log, 'RUNS');
    await log.jsm.streams.delete('RUNS');
    await provision(log);
    expect(await createdAt(log, 'RUNS')).not.toBe(created);
  });
});
