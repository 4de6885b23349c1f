import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  aLaggingCluster,
  handedBy,
  type LaggingCluster,
} from '@runledger/event-log/test/fixtures/leader-behind';
import { stored } from '@runledger/event-log/test/fixtures/stored';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOLDER, someSubscriptions } from '../../../runs/subscribe/some-subscriptions.ts';

let cluster: LaggingCluster;
beforeAll(async () => {
  cluster = await aLaggingCluster();
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

const nobodyGoes = new AbortController().signal;
const WAIT_MS = 120_000;

interface Waiting extends AsyncDisposable {
  readonly isOver: () => boolean;
}

/**
 * Waits as a request with `?wait=` does. Another server than the leader delivers the messages, and the leader responds to the reads. The
 * broker chooses the server of a consumer at random.
 */
const waitAhead = async (run: RunKey, leader: number): Promise<Waiting> => {
  const elsewhere = cluster.elsewhere(leader);
  for (;;) {
    const before = new Set((await elsewhere.jsm.consumers.list('RUNS').next()).map(({ name }) => name));
    const subscriptions = someSubscriptions(handedBy(elsewhere, cluster.at(leader)));
    let isOver = false;
    const ended = subscriptions.awaitEnd(run, { withinMs: WAIT_MS, signal: nobodyGoes, holder: HOLDER });
    void ended.then(() => (isOver = true));
    const tail = await waitFor('the tail of the log', async () => {
      const consumers = await elsewhere.jsm.consumers.list('RUNS').next();
      return consumers.find(({ name }) => !before.has(name));
    });
    if (tail.cluster?.leader !== `n${leader}`) {
      return { isOver: () => isOver, [Symbol.asyncDispose]: () => subscriptions[Symbol.asyncDispose]() };
    }
    await subscriptions[Symbol.asyncDispose]();
  }
};

describe('a client that waits for the end of a run', { timeout: 180_000 }, () => {
  it('gets it at once, also when the leader does not have the end yet that a replica delivered', async () => {
    const run = aRun();
    const first = await stored(cluster.elsewhere(0), queued(run), 0);
    await using waiting = await waitAhead(run, await cluster.settledLeader());
    await cluster.leaveBehind('cut off', async (elsewhere) => {
      let head = first;
      for (const event of [assigned(run), started(run), succeeded(run)]) {
        head = await stored(elsewhere, event, head);
      }
    });
    expect(waiting.isOver()).toBe(false);
    await waitFor('the end', waiting.isOver, { withinMs: WAIT_MS / 4 });
  });
});
