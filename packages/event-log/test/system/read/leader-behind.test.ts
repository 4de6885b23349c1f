import { ALL_LIFECYCLES, type RunKey } from '@runledger/contracts/events/subjects';
import { aRun, assigned, queued, started } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../../src/append/append.ts';
import type { EventLog } from '../../../src/connect/event-log.ts';
import { follow } from '../../../src/follow/follow.ts';
import { followSubjects } from '../../../src/follow/tail-runs.ts';
import { readStored } from '../../../src/read/run-messages.ts';
import { runsIdentity } from '../../../src/read/stream-identity.ts';
import { readRun } from '../../../src/read/read-run.ts';
import { aLaggingCluster, type LaggingCluster } from '../../fixtures/leader-behind.ts';
import { stored } from '../../fixtures/stored.ts';

let cluster: LaggingCluster;
beforeAll(async () => {
  cluster = await aLaggingCluster();
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

interface Ahead {
  /** At the server that led until then. */
  readonly behind: EventLog;
  readonly run: RunKey;
  readonly last: number;
}

/** A reader was handed messages of a run that the server which it asks does not have, and which led the stream. */
const ahead = async (how: 'cut off' | 'paused'): Promise<Ahead> => {
  const run = aRun();
  const { behind, stored: last } = await cluster.leaveBehind(how, async (elsewhere) =>
    stored(elsewhere, assigned(run), await stored(elsewhere, queued(run), 0)),
  );
  return { behind, run, last };
};

/** Sent while the server is paused: it finds them before it hears of the new leader. */
const AT_ONCE = 25;
const atOnce = <Result>(read: () => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, read));

describe('a reader that was handed what the leader does not have yet', { timeout: 90_000 }, () => {
  it('finds the message, and reads the run with it', async () => {
    const { behind, run, last } = await ahead('paused');
    const [found, read] = await Promise.all([
      atOnce(() => readStored(behind, last)),
      atOnce(() => readRun(behind, run, { atLeast: last })),
    ]);
    expect(new Set(found.map((message) => message?.sequence))).toEqual(new Set([last]));
    expect(new Set(read.map((one) => one.kind === 'found' && one.history.head))).toEqual(new Set([last]));
  });

  it('finds the message while two servers respond as the leader, and does not take the log for a shorter one', async () => {
    const { behind, stored: found } = await cluster.leaveBehind('cut off', async (elsewhere) => ({
      last: await stored(elsewhere, queued(aRun()), 0),
      info: () => elsewhere.jsm.streams.info('RUNS'),
    }));
    const { last, info } = found;
    const streams = Object.assign(Object.create(behind.jsm.streams), { info });
    const both: EventLog = { ...behind, jsm: Object.assign(Object.create(behind.jsm), { streams }) };
    const [message, { lastSequence }] = await Promise.all([
      readStored(both, last),
      runsIdentity(behind, last),
    ]);
    expect(message?.sequence).toBe(last);
    expect(lastSequence).toBeGreaterThanOrEqual(last);
  });

  it('appends behind it', async () => {
    const { behind, run, last } = await ahead('paused');
    expect(await append(behind, started(run), last)).toMatchObject({ kind: 'appended' });
  });

  it('follows the log from there', async () => {
    const { behind, run, last } = await ahead('cut off');
    const taken: number[] = [];
    await using following = await follow(behind, {
      stream: 'RUNS',
      subjects: [ALL_LIFECYCLES],
      after: last,
      onBatch: async (messages) => void taken.push(...messages.map(({ sequence }) => sequence)),
    });
    const next = await stored(cluster.elsewhere(0), started(run), last);
    await waitFor('the next message', () => taken.length > 0);
    expect(taken).toEqual([next]);
    expect(following.state()).toEqual({ ok: true });
  });

  it('counts nothing twice', async () => {
    const { behind, run, last } = await ahead('cut off');
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
    const next = await stored(cluster.elsewhere(0), started(run), last);
    await waitFor('the next message', () => taken.length > 0);
    expect(taken).toEqual([next]);
    expect(following.state()).toEqual({ ok: true });
  });
});
