import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { QueuedRun } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readRun } from '@runledger/event-log/read/read-run';
import { aLaggingCluster, type LaggingCluster } from '@runledger/event-log/test/fixtures/leader-behind';
import { stored } from '@runledger/event-log/test/fixtures/stored';
import { aRun, assigned, EXECUTOR, queued, requeued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Assign } from '../../src/core/decision.ts';
import type { Outcome } from '../../src/core/scheduler-input.ts';
import { recentRequests } from '../../src/follow-runs.ts';
import { storeDecision } from '../../src/store-decision.ts';

let cluster: LaggingCluster;
beforeAll(async () => {
  cluster = await aLaggingCluster();
}, 120_000);
afterAll(() => cluster[Symbol.asyncDispose]());

const uncounted = {
  assigned: () => undefined,
  executorLost: () => undefined,
  ended: () => undefined,
  conflict: () => undefined,
};

/** As the scheduler decides when it was handed the last fact of a queued run. */
const assignment = async (log: EventLog, key: RunKey, lastFact: number): Promise<Assign> => {
  const read = await readRun(log, key, { atLeast: lastFact });
  if (read.kind !== 'found' || read.run.status !== 'queued') throw new Error(`the run is ${read.kind}`);
  const run: QueuedRun = read.run;
  return {
    type: 'assign',
    key,
    run,
    expected: read.history.head,
    causedBy: null,
    attempt: (run.attempt?.number ?? 0) + 1,
    executor: EXECUTOR,
    executor_public_key: 'MCowBQYDK2VwAyEA',
    slot: 0,
    gpu: 'A10G',
    placement: { candidates: 1, choice: 'cold', waited_s: 0 },
  };
};

const append = async (log: EventLog, events: readonly RunEvent[], head = 0): Promise<number> => {
  let last = head;
  for (const event of events) last = await stored(log, event, last);
  return last;
};

/** What becomes of a decision that rests on facts which the leader does not have. */
const decided = async (
  key: RunKey,
  { known, ahead }: { readonly known: readonly RunEvent[]; readonly ahead: readonly RunEvent[] },
): Promise<Outcome> => {
  const head = await append(cluster.elsewhere(0), known);
  const { behind, stored: decision } = await cluster.leaveBehind('cut off', async (elsewhere) => {
    return assignment(elsewhere, key, await append(elsewhere, ahead, head));
  });
  const requests = recentRequests();
  const options = {
    log: behind,
    instance: 'test',
    term: 1,
    requests,
    metrics: uncounted,
    onHeartbeat: () => undefined,
  };
  const outcome = await storeDecision(options, decision, AbortSignal.timeout(60_000));
  // A replica may not have it yet.
  if (outcome === 'stored') await waitFor('the decision', () => isStarted(behind, key));
  return outcome;
};

const isStarted = async (log: EventLog, key: RunKey): Promise<boolean> => {
  const read = await readRun(log, key);
  return read.kind === 'found' && read.run.status === 'started';
};

describe('a run that was delivered before the leader has it', { timeout: 120_000 }, () => {
  it('is assigned, and not given up for a missing request', async () => {
    const key = aRun();
    expect(await decided(key, { known: [], ahead: [queued(key)] })).toBe('stored');
  });

  it('is assigned again, and not taken for expired, when the leader lacks its last facts', async () => {
    const key = aRun();
    const ahead = [assigned(key), requeued(key)];
    expect(await decided(key, { known: [queued(key)], ahead })).toBe('stored');
  });
});
