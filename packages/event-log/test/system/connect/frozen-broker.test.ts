import { setTimeout as pause } from 'node:timers/promises';
import type { Msg } from '@nats-io/transport-node';
import { newUuid } from '@runledger/contracts/ids';
import { ALL_LIFECYCLES } from '@runledger/contracts/events/subjects';
import { sleep } from '@runledger/resilience/abort';
import { aRun, queued } from '@runledger/testing/run-events';
import type { TestNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../../src/append/append.ts';
import { callBroker } from '../../../src/connect/broker-call.ts';
import { openEventLog, type EventLog } from '../../../src/connect/event-log.ts';
import { silentLogger } from '../../../src/connect/observability.ts';
import { consume, done } from '../../../src/follow/consume.ts';
import { follow } from '../../../src/follow/follow.ts';
import { withFreshReads } from '../../../src/read/fresh-reads.ts';
import { publish } from '../../../src/append/publish.ts';
import { openServiceLog, type ServiceLogOptions } from '../../../src/provision/service-log.ts';
import { lastOfRun } from '../../../src/read/read-run.ts';
import { aClusterLog, settledLeader, type ClusterLog } from '../../fixtures/cluster-log.ts';
import { stored } from '../../fixtures/stored.ts';

/** The heartbeat period: an executor that needs longer loses its runs. Three seconds on a machine that is not busy. */
const NOTICED_WITHIN_MS = 6_000;

/** The durable consumer may need an election. Pings of 10 s would notice nothing before. */
const READY_WITHIN_MS = 18_000;

/** Less than a read waits for a response. */
const READ_WITHIN_MS = 1_500;

let cluster: ClusterLog;
let servers: readonly TestNats[];
let log: EventLog;

beforeAll(async () => {
  cluster = await aClusterLog();
  ({ log } = cluster);
  ({ servers } = cluster.brokers);
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

const serverOf = (one: EventLog): TestNats => {
  const found = servers.find(({ port }) => one.nc.getServer().endsWith(`:${port}`));
  if (!found) throw new Error(`no server is at ${one.nc.getServer()}`);
  return found;
};

/** Opened at a server that does not lead these streams: freezing it needs no election. */
const atFollower = async (
  open: (url: string) => Promise<EventLog> = (url) =>
    openEventLog({ url, name: 'at-follower' }, silentLogger),
  streams: readonly string[] = ['RUNS'],
): Promise<EventLog> => {
  const leaders: number[] = [];
  for (const stream of streams) leaders.push(await settledLeader(log, stream));
  const follower = servers.find((_, n) => !leaders.includes(n));
  // The driver shuffles the list, and connects again until it is the one.
  for (;;) {
    const connected = await open(cluster.brokers.url);
    if (serverOf(connected) === follower) return connected;
    await connected[Symbol.asyncDispose]();
  }
};

interface Service extends AsyncDisposable {
  readonly log: EventLog;
  /** What is wrong, as `/readyz` says it. */
  problems(): Promise<readonly string[]>;
  /** The runs that its followers and its durable consumer have read. */
  readonly read: { readonly followed: Set<string>; readonly consumed: Set<string> };
}

/** As a gateway follows the log, and executors and notifiers consume it. */
const aService = async (): Promise<Service> => {
  await using opened = new AsyncDisposableStack();
  const checks: ServiceLogOptions['checks'] = {};
  const own = await atFollower(
    async (url) => {
      const open = opened.use(new AsyncDisposableStack());
      const beginning = { config: { NATS_URL: url }, instance: 'service', logger: silentLogger, checks };
      const connected = await openServiceLog(beginning, open, AbortSignal.timeout(60_000));
      return { ...connected, [Symbol.asyncDispose]: () => open.disposeAsync() };
    },
    ['RUNS', 'KV_EXECUTORS'],
  );
  const read = { followed: new Set<string>(), consumed: new Set<string>() };
  const all = { stream: 'RUNS', subjects: [ALL_LIFECYCLES] } as const;
  const following = opened.use(
    await follow(own, {
      ...all,
      after: 0,
      onBatch: async (messages) => messages.forEach(({ subject }) => void read.followed.add(subject)),
    }),
  );
  const consumption = opened.use(
    await consume(own, { ...all, name: 'service', deliver: 'all' }, async ({ subject }) => {
      read.consumed.add(subject);
      return done;
    }),
  );
  const kept = opened.move();
  return {
    log: own,
    read,
    problems: async () => {
      const states = await Promise.all(Object.values(checks).map(async (check) => check()));
      return [...states, following.state(), consumption.state()].flatMap((state) =>
        state.ok ? [] : [state.why],
      );
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

/** Milliseconds between two heartbeats that were stored, the longest so far. */
const heartbeats = (sender: EventLog): { readonly longest: () => number; stop(): Promise<void> } => {
  const stop = new AbortController();
  let [last, longest] = [performance.now(), 0];
  const send = async (): Promise<void> => {
    const beat = { stream: 'KV_EXECUTORS', subject: '$KV.EXECUTORS.box', data: new Uint8Array(1) };
    for (; !stop.signal.aborted; await sleep(250, stop.signal)) {
      const sent = publish(sender, { ...beat, id: newUuid(), ttl: '60s', withinMs: 2_000 });
      if (!(await sent.then(Boolean, () => false))) continue;
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }
  };
  const sending = send();
  return {
    longest: () => Math.max(longest, performance.now() - last),
    stop: () => {
      stop.abort();
      return sending;
    },
  };
};

describe('a broker of several that is frozen', () => {
  it('is left within seconds, and what was sent to it is sent to another', { timeout: 120_000 }, async () => {
    await using client = await atFollower();
    const frozen = serverOf(client);
    await frozen.pause();
    try {
      const began = performance.now();
      const result = await append(client, queued(aRun()), 0);
      expect(result).toMatchObject({ kind: 'appended' });
      expect(performance.now() - began).toBeLessThan(NOTICED_WITHIN_MS);
      expect(serverOf(client)).not.toBe(frozen);
    } finally {
      frozen.resume();
    }
  });

  it(
    'costs a service seconds: it says so, is ready again and goes on, and no executor is lost',
    { timeout: 180_000 },
    async () => {
      await using service = await aService();
      await waitFor('the service to be ready', async () => (await service.problems()).length === 0);
      const sending = heartbeats(service.log);
      const frozen = serverOf(service.log);
      await frozen.pause();
      try {
        // It has just asked the frozen one.
        expect(await service.problems()).toContainEqual(expect.stringContaining('the log does not respond'));
        const run = queued(aRun());
        const isIn = (subjects: ReadonlySet<string>): boolean =>
          [...subjects].some((subject) => subject.includes(run.run_id));
        await stored(log, run, 0);
        await waitFor(
          'the service to be ready, and to have read the run',
          async () =>
            (await service.problems()).length === 0 &&
            isIn(service.read.followed) &&
            isIn(service.read.consumed),
          { withinMs: READY_WITHIN_MS },
        );
        expect(serverOf(service.log)).not.toBe(frozen);
        expect(sending.longest()).toBeLessThan(NOTICED_WITHIN_MS);
      } finally {
        frozen.resume();
        await sending.stop();
      }
    },
  );

  it('is sent no reads any more within seconds', { timeout: 120_000 }, async () => {
    await using client = await atFollower();
    const key = aRun();
    await stored(client, queued(key), 0);
    const fresh = withFreshReads(client, () => performance.now());
    const leader = await settledLeader(log);
    const frozen = servers.find((server, n) => n !== leader && server !== serverOf(client));
    if (!frozen) throw new Error('no server follows');
    await frozen.pause();
    try {
      // Each replica would get a third of them.
      await waitFor(
        '20 fast reads, one after the other',
        async () => {
          for (let reads = 0; reads < 20; reads += 1) {
            const began = performance.now();
            await lastOfRun(fresh, key);
            if (performance.now() - began > READ_WITHIN_MS) return false;
          }
          return true;
        },
        { withinMs: 40_000 },
      );
    } finally {
      frozen.resume();
    }
  });

  it('that answers within a second and a half keeps its clients', { timeout: 120_000 }, async () => {
    await using client = await atFollower();
    let lost = false;
    const watch = async (): Promise<void> => {
      for await (const { type } of client.nc.status()) lost ||= type === 'disconnect';
    };
    void watch();
    const slow = serverOf(client);
    for (let times = 0; times < 3; times += 1) {
      await slow.pause();
      // A busy machine adds to it.
      await pause(1_200);
      slow.resume();
      await client.nc.flush();
    }
    expect(lost).toBe(false);
  });
});

describe('a client of one server of a cluster', () => {
  it(
    'waits for that server, and uses no address that the cluster advertises',
    { timeout: 120_000 },
    async () => {
      const own = servers.find((server) => server !== serverOf(log));
      await using client = await openEventLog({ url: own?.url ?? '', name: 'at-one' }, silentLogger);
      await waitFor('the addresses of all servers', async () => client.nc.info?.connect_urls?.length === 3);
      try {
        await own?.kill9();
        await waitFor('the loss', async () => !client.connected());
      } finally {
        await own?.restart();
      }
      await waitFor('the reconnect', async () => client.connected());
      expect(serverOf(client)).toBe(own);
    },
  );
});

/** The driver alone would wait for the whole time. */
const RESPONSE_WITHIN_MS = 60_000;

describe('a request that waits for a response', () => {
  it('is sent again as soon as another broker is connected', { timeout: 180_000 }, async () => {
    await using client = await atFollower();
    const frozen = serverOf(client);
    try {
      await frozen.pause();
      const ask = (): Promise<Msg> =>
        client.nc.request('$JS.API.STREAM.INFO.RUNS', '', { timeout: RESPONSE_WITHIN_MS });
      const asking = callBroker('asking for RUNS', ask, RESPONSE_WITHIN_MS);
      await frozen.kill9();
      const began = performance.now();
      expect((await asking).json()).toMatchObject({ config: { name: 'RUNS' } });
      expect(performance.now() - began).toBeLessThan(RESPONSE_WITHIN_MS / 2);
    } finally {
      await frozen.restart();
    }
  });
});
