import type { QueuedRun } from '@runledger/contracts/fold/run';
import { readRun } from '@runledger/event-log/read/read-run';
import { EXECUTOR } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import type { Assign } from '../src/core/decision.ts';
import type { Outcome } from '../src/core/scheduler-input.ts';
import { storeDecision } from '../src/store-decision.ts';
import { recentRequests } from '../src/follow-runs.ts';
import { openTestScheduler } from './fixtures/scheduler-test-bed.ts';

const metrics = {
  assigned: () => undefined,
  executorLost: () => undefined,
  ended: () => undefined,
  conflict: () => undefined,
};

describe('an assignment', () => {
  it('needs the request of its run, and leaves the run to its end when that is gone', async () => {
    await using bed = await openTestScheduler();
    const { log } = bed;
    const key = await bed.queue();
    const read = await readRun(log, key);
    if (read.kind !== 'found' || read.run.status !== 'queued') throw new Error(`the run is ${read.kind}`);
    const { history } = read;
    const run: QueuedRun = read.run;
    const store = (number: number): Promise<Outcome> => {
      const decision: Assign = {
        type: 'assign',
        key,
        run: { ...run, number },
        expected: history.head,
        causedBy: null,
        attempt: 1,
        executor: EXECUTOR,
        executor_public_key: 'MCowBQYDK2VwAyEA',
        slot: 0,
        gpu: 'A10G',
        placement: { candidates: 1, choice: 'cold', waited_s: 0 },
      };
      const options = {
        log,
        instance: 'test',
        term: 1,
        requests: recentRequests(),
        metrics,
        onHeartbeat: () => undefined,
      };
      return storeDecision(options, decision, AbortSignal.timeout(30_000));
    };
    expect(await store(run.number + 1)).toBe('expired');
    expect(await bed.run(key)).toMatchObject({ status: 'queued' });
    expect(await store(run.number)).toBe('stored');
    expect(await bed.run(key)).toMatchObject({ status: 'started' });
  });
});
