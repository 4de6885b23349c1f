import type { PeerInfo } from '@nats-io/jetstream';
import { describe, expect, it } from 'vitest';
import { noteOn, replicasOf } from '../../src/provision/replicas.ts';
import { aLog } from '../fixtures/test-log.ts';

type Info = Parameters<typeof replicasOf>[0];

const SECOND = 1_000_000_000;
const peer = (name: string, how: Partial<PeerInfo> = {}): PeerInfo => ({
  name,
  current: true,
  offline: false,
  active: SECOND / 2,
  lag: 0,
  ...how,
});
const copies = (wanted: number, ...replicas: readonly PeerInfo[]): Info => {
  // Of a whole configuration, only this is read.
  const config = { num_replicas: wanted } as Info['config'];
  return { config, cluster: { name: 'test', leader: 'n0', replicas: [...replicas] } };
};
const gone = { current: false, active: 60 * SECOND, lag: 120 };

describe('the copies of a stream', () => {
  it.each([
    ['all are there', copies(3, peer('n1'), peer('n2')), { current: 3, away: [], lag: 0, hasQuorum: true }],
    [
      'one catches up',
      copies(3, peer('n1'), peer('n2', { current: false, lag: 7 })),
      { current: 2, away: [], lag: 7, hasQuorum: true },
    ],
    [
      'one is away',
      copies(3, peer('n1'), peer('n2', gone)),
      { current: 2, away: ['n2'], lag: 120, hasQuorum: true },
    ],
    [
      'two are away',
      copies(3, peer('n1', { offline: true }), peer('n2', gone)),
      { current: 1, away: ['n1', 'n2'], lag: 120, hasQuorum: false },
    ],
    [
      'one was gone before the leader was elected',
      copies(3, peer('n1'), peer('n2', { current: false, active: 0 })),
      { current: 2, away: ['n2'], hasQuorum: true },
    ],
    [
      'one has not been heard since, and misses nothing yet',
      copies(3, peer('n1'), peer('n2', { active: 60 * SECOND })),
      { current: 2, away: ['n2'], hasQuorum: true },
    ],
    ['there is one, on a cluster', copies(1), { current: 1, away: [], hasQuorum: true, isClustered: true }],
  ])('are counted when %s', (_what, info, counted) => {
    expect(replicasOf(info)).toMatchObject(counted);
  });

  it('do not count the broker that responds as away, while they have no leader', () => {
    const { config } = copies(3);
    const unheard = { current: false, active: 0 };
    const replicas = [
      peer('n1', unheard),
      peer('n2', unheard),
      peer('n3', { current: false, offline: true }),
    ];
    const info: Info = { config, cluster: { name: 'test', replicas } };
    expect(replicasOf(info, 'n1')).toMatchObject({ away: ['n2', 'n3'], hasQuorum: false });
    // A leader that does not reach a broker knows better: JetStream may be switched off there.
    const led: Info = {
      config,
      cluster: { name: 'test', leader: 'n3', replicas: [peer('n1', gone), peer('n2')] },
    };
    expect(replicasOf(led, 'n1')).toMatchObject({ away: ['n1'], hasQuorum: true });
  });

  it('need no note on a single broker', async () => {
    await using test = await aLog();
    const single = replicasOf(await test.log.jsm.streams.info('RUNS'));
    expect(single).toEqual({
      wanted: 1,
      current: 1,
      away: [],
      lag: 0,
      hasQuorum: true,
      isClustered: false,
    });
    expect(noteOn('RUNS', single)).toBeUndefined();
  });

  it('are described for an operator', () => {
    expect(noteOn('RUNS', replicasOf(copies(3, peer('n1'), peer('n2', gone))))).toBe(
      'RUNS has 2 of 3 copies that are current, 120 messages behind at most; away, or with JetStream switched off after its disk was full: n2',
    );
    expect(noteOn('RUNS', replicasOf(copies(1)))).toMatch(/one copy, although there are several brokers/);
  });

  it('are described with the other streams that miss some', () => {
    const complete = replicasOf(copies(3, peer('n1'), peer('n2')));
    const all = new Map([
      ['RUNS', complete],
      ['FLEET', complete],
      ['TIMERS', replicasOf(copies(3, peer('n1'), peer('n2', gone)))],
      ['KV_KEYS', replicasOf(copies(3, peer('n1', gone), peer('n2')))],
      ['KV_RATES', replicasOf(copies(1))],
      ['BLOBS', undefined],
    ]);
    expect(noteOn('RUNS', complete, all)).toBe(
      'RUNS has 3 of 3 copies that are current, 0 messages behind at most; copies are missing of TIMERS, KV_KEYS; ' +
        'one copy only: KV_RATES; without a leader: BLOBS',
    );
  });
});
