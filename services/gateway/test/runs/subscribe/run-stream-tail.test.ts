import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { runStreamTail, type RunStreamTail } from '../../../src/runs/live-run.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { aKit } from '../../fixtures/gateway/a-kit.ts';

/** What a listener was told, until it leaves. */
const listening = (tail: RunStreamTail, key: RunKey) => {
  const told: (number | 'gap')[] = [];
  const leave = tail.listen(key, {
    onMessage: (sequence) => told.push(sequence),
    onGap: () => told.push('gap'),
  });
  return { told, leave };
};

describe('the stream tail', () => {
  it('ends some time after the last listener, and begins again with the next one', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const tail = open.use(runStreamTail(aKit({ log }), 1));
    const first = listening(tail, aRun());
    await waitFor('the tail to begin', () => first.told.length > 0);
    first.leave();
    await waitFor('a tail that began again', async () => {
      const key = aRun();
      const { told, leave } = listening(tail, key);
      await appendAll(log, queued(key));
      await waitFor('the message, or a gap', () => told.length > 0);
      leave();
      return told[0] === 'gap';
    });
  });

  it('goes on for listeners that follow each other', async () => {
    await using open = new AsyncDisposableStack();
    const { log } = open.use(await aLog());
    const tail = open.use(runStreamTail(aKit({ log })));
    const first = listening(tail, aRun());
    await waitFor('the tail to begin', () => first.told.length > 0);
    first.leave();
    for (const key of [aRun(), aRun()]) {
      const { told, leave } = listening(tail, key);
      const sequence = await appendAll(log, queued(key));
      await waitFor('the message', () => told.length > 0);
      expect(told).toEqual([sequence]);
      leave();
    }
  });
});
