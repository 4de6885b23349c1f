import { executorId } from '@runledger/contracts/ids';
import { lifecycleFilter, runEventSubject } from '@runledger/contracts/events/subjects';
import { head } from '@runledger/event-log/read/read-run';
import { started } from '@runledger/testing/run-events';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { openTestScheduler } from './fixtures/scheduler-test-bed.ts';

it('what an executor stores under a run that has ended, behind its end, is not looked up', async () => {
  await using bed = await openTestScheduler();
  await bed.schedule();
  const executor = await bed.executor('box');
  const key = await bed.queue();
  await executor.assigned(key);
  await executor.append(key, 'RunStarted', { cold_start_s: 0 });
  await executor.append(key, 'RunSucceeded', { outputs: [], outputs_blob: null });
  const stray = started(key, 1, executorId('hostile.000000000001'));
  const at: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    const expected = {
      lastSubjectSequence: await head(bed.log, key),
      lastSubjectSequenceSubject: lifecycleFilter(key),
    };
    const { seq } = await bed.log.js.publish(runEventSubject(stray), JSON.stringify(stray), {
      expect: expected,
    });
    at.push(seq);
  }
  // What comes behind is taken.
  await executor.assigned(await bed.queue());
  const letters = await waitFor('the dead letters', async () => {
    const list = await listDeadLetters(bed.log, { stream: 'RUNS', limit: 10 });
    return list.length === at.length && list;
  });
  // A look-up would say what the run is.
  const reason = 'its run is not executing, or the log does not hold its assignment any more';
  expect(letters.map((letter) => [letter.sequence, letter.reason])).toEqual(
    at.map((sequence) => [sequence, reason]),
  );
});
