import { ALL_LIFECYCLES, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { aRun, assigned, queued, started } from '@runledger/testing/events/run-events';
import { partitionedNatsCluster, type PartitionedNatsCluster } from '@runledger/testing/servers/nats-cluster';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../../src/append/append.ts';
import { openEventLog, type EventLog } from '../../../src/connect/event-log.ts';
import { silentLogger } from '../../../src/connect/logger.ts';
import { retryWhileUnavailable } from '../../../src/connect/retry-while-unavailable.ts';
import { follow } from '../../../src/follow/follow.ts';
import { followSubjects } from '../../../src/follow/follow-subjects.ts';
import { readStored, runsIdentity } from '../../../src/messages/stream-identity.ts';
import { awaitProvisioned, provision } from '../../../src/provision/provision.ts';
import { readRun } from '../../../src/read/read-run.ts';
import { stored } from '../../fixtures/stored.ts';

const opened = new AsyncDisposableStack();
let cluster: PartitionedNatsCluster;
/** One for each server, and connected to no other. */
let logs: readonly EventLog[];

beforeAll(async () => {
  cluster = opened.use(await partitionedNatsCluster());
  logs = await Promise.all(
    cluster.servers.map(async ({ url }) =>
      opened.use(await openEventLog({ url, name: 'test' }, silentLogger)),
    ),
  );
  // Through proxies the servers take a moment to find each other.
  const late = { signal: AbortSignal.timeout(60_000), logger: silentLogger };
  await retryWhileUnavailable(late, () => provision(leftOf(0), { replicas: 3 }));
  await awaitProvisioned(leftOf(0));
}, 120_000);
afterAll(() => opened.disposeAsync());

const leftOf = (server: number): EventLog => {
  const log = logs[(server + 1) % 3];
  if (!log) throw new Error(`there is no server ${server}`);
  return log;
};

/** Which server leads RUNS, once each server says the same and follows it. One that was replaced may respond at first. */
const settledLeader = async (): Promise<number> => {
  const leader = await waitFor(
    'three servers with one leader',
    async () => {
      const infos = await Promise.all(logs.map(({ jsm }) => jsm.streams.info('RUNS')));
      const leaders = new Set(infos.map(({ cluster: group }) => group?.leader));
      const isSettled = infos.every(
        ({ cluster: group }) =>
          group?.replicas?.length === 2 &&
          group.replicas.every(({ offline, current }) => !offline && current),
      );
      return isSettled && leaders.size === 1 && infos[0]?.cluster?.leader;
    },
    { withinMs: 60_000 },
  );
  return Number(leader.slice(1));
};

/** Until the test has begun to read. */
const BACK_AFTER_MS = 300;

interface Ahead {
  /** At the server that led until then. */
  readonly behind: EventLog;
  readonly run: RunKey;
  readonly last: number;
}

/**
 * A reader was handed messages of a run that the server which it asks does not have, and which led the stream. In production a
 * replica is ahead of the leader for milliseconds. Here the leader is away while they are stored, so that it is behind for longer.
 */
const ahead = async (
  leave: (leader: number) => void | Promise<void>,
  comeBack: (leader: number) => void,
): Promise<Ahead> => {
  const run = aRun();
  const leader = await settledLeader();
  const behind = logs[leader];
  if (!behind) throw new Error(`there is no server ${leader}`);
  await leave(leader);
  const first = await stored(leftOf(leader), queued(run), 0);
  const last = await stored(leftOf(leader), assigned(run), first);
  setTimeout(() => comeBack(leader), BACK_AFTER_MS);
  return { behind, run, last };
};

const aheadOfCutOff = (): Promise<Ahead> =>
  ahead(
    (leader) => cluster.cutOff(leader, 'stall'),
    () => cluster.heal(),
  );
const aheadOfPaused = (): Promise<Ahead> =>
  ahead(
    (leader) => cluster.servers[leader]?.pause(),
    (leader) => cluster.servers[leader]?.resume(),
  );

/** Sent while the server is paused: it finds them before it hears of the new leader. */
const AT_ONCE = 50;
const atOnce = <Result>(read: () => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, read));

describe('a reader that was handed what the leader does not have yet', { timeout: 90_000 }, () => {
  it('finds the message', async () => {
    const { behind, last } = await aheadOfPaused();
    const found = await atOnce(() => readStored(behind, last));
    expect(new Set(found.map((message) => message?.sequence))).toEqual(new Set([last]));
  });

  it('reads the run with it', async () => {
    const { behind, run, last } = await aheadOfPaused();
    const found = await atOnce(() => readRun(behind, run, { atLeast: last }));
    expect(new Set(found.map((read) => read.kind === 'found' && read.history.head))).toEqual(new Set([last]));
  });

  it('appends behind it', async () => {
    const { behind, run, last } = await aheadOfPaused();
    expect(await append(behind, started(run), last)).toMatchObject({ kind: 'appended' });
  });

  it('follows the log from there', async () => {
    const { behind, run, last } = await aheadOfCutOff();
    const taken: number[] = [];
    await using following = await follow(behind, {
      stream: 'RUNS',
      subjects: [ALL_LIFECYCLES],
      after: last,
      onBatch: async (messages) => void taken.push(...messages.map(({ sequence }) => sequence)),
    });
    const next = await stored(leftOf(0), started(run), last);
    await waitFor('the next message', () => taken.length > 0);
    expect(taken).toEqual([next]);
    expect(following.state()).toEqual({ ok: true });
  });

  it('does not take the log for a shorter one', async () => {
    const { behind, last } = await aheadOfCutOff();
    expect((await runsIdentity(behind, last)).lastSequence).toBeGreaterThanOrEqual(last);
  });

  it('counts nothing twice', async () => {
    const { behind, run, last } = await aheadOfCutOff();
    const taken: number[] = [];
    let reached = last;
    await using following = await followSubjects(behind, {
      readUpTo: () => reached,
      after: ({ lastSequence }) => {
        expect(lastSequence).toBeGreaterThanOrEqual(reached);
        return reached;
      },
      onMessages: (messages) => {
        taken.push(...messages.map(({ sequence }) => sequence));
        reached = taken.at(-1) ?? reached;
      },
    });
    const next = await stored(leftOf(0), started(run), last);
    await waitFor('the next message', () => taken.length > 0);
    expect(taken).toEqual([next]);
    expect(following.state()).toEqual({ ok: true });
  });
});
