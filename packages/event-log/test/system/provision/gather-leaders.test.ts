import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALL_STREAMS } from '../../../src/provision/provision.ts';
import { replicasOf } from '../../../src/provision/replicas.ts';
import { leaderGathering } from '../../../src/provision/stream-copies.ts';
import { aClusterLog, settledLeader, type ClusterLog } from '../../fixtures/cluster-log.ts';

let cluster: ClusterLog;
beforeAll(async () => {
  cluster = await aClusterLog();
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

const STREAM = 'KV_KEYS';

const leaderOf = async (stream: string): Promise<string | undefined> =>
  (await cluster.log.jsm.streams.info(stream)).cluster?.leader;

const isLedBy = (stream: string, broker: string): Promise<unknown> =>
  waitFor(`${broker} to lead ${stream}`, async () => (await leaderOf(stream)) === broker, {
    withinMs: 60_000,
  });

const lead = async (stream: string, broker: string): Promise<void> => {
  const { log } = cluster;
  const wanted = JSON.stringify({ placement: { preferred: broker } });
  if ((await leaderOf(stream)) === broker) return;
  await log.nc.request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, wanted, { timeout: 5_000 });
  await isLedBy(stream, broker);
};

describe('the leaders of the streams', { timeout: 180_000 }, () => {
  it('move to the broker that leads RUNS', async () => {
    const leader = await settledLeader(cluster.log);
    await lead(STREAM, `n${(leader + 1) % 3}`);
    const gather = leaderGathering(cluster.log, ALL_STREAMS);
    const { signal } = new AbortController();
    await waitFor(
      'one leader of all streams',
      async () => {
        await gather(signal);
        const leaders = await Promise.all(ALL_STREAMS.map(leaderOf));
        return new Set(leaders).size === 1 && leaders[0] === (await leaderOf('RUNS'));
      },
      { withinMs: 90_000 },
    );
  });

  it('stay where they are while a broker is away', async () => {
    const { log, brokers } = cluster;
    const leader = await settledLeader(log);
    const other = `n${(leader + 1) % 3}`;
    await lead(STREAM, other);
    await settledLeader(log, STREAM);
    const away = brokers.servers[(leader + 2) % 3];
    await away?.kill9();
    try {
      for (const stream of ALL_STREAMS) {
        await waitFor(`${stream} to miss a copy`, async () => {
          const { away } = replicasOf(await log.jsm.streams.info(stream));
          return away.length > 0;
        });
      }
      const gather = leaderGathering(log, ALL_STREAMS);
      const { signal } = new AbortController();
      for (let looks = 0; looks < 3; looks += 1) await gather(signal);
      expect(await leaderOf(STREAM)).toBe(other);
    } finally {
      await away?.restart();
    }
  });
});
