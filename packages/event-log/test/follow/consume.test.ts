import { setImmediate } from 'node:timers/promises';
import { waitFor } from '@runledger/testing/wait-for';
import { lifecycleFilter, runEventSubject } from '@runledger/contracts/events/subjects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { consume, done, NewerVersion, retryIn, type Outcome } from '../../src/follow/consume.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';
import { aRun, assigned, queued, requeued, started, storeOfLaterType } from '@runledger/testing/run-events';

import { consumerOf, history } from '../fixtures/consumed-runs.ts';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

describe('consume', () => {
  it('handles every message in order, and continues after a restart where it stopped', async () => {
    const key = aRun();
    const sequences = await history(log, key);
    const seen: number[] = [];
    const handle = async ({ sequence }: { sequence: number }): Promise<Outcome> => {
      seen.push(sequence);
      return done;
    };
    {
      await using open = new AsyncDisposableStack();
      open.use(await consume(log, consumerOf('restarted', key), handle));
      await expect.poll(() => seen, { timeout: 10_000 }).toEqual(sequences);
    }
    const more = await append(log, assigned(key, { attempt: 2 }), sequences.at(-1) ?? 0);
    await using consumption = await consume(log, consumerOf('restarted', key), handle);
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(4);
    expect(seen.at(-1)).toBe(more.kind === 'appended' ? more.sequence : undefined);
    expect(consumption.state()).toEqual({ ok: true });
  });

  it('handles no later message before a retried one', async () => {
    const key = aRun();
    const [first, second, third] = await history(log, key);
    const seen: number[] = [];
    let refuse = 2;
    await using open = new AsyncDisposableStack();
    open.use(
      await consume(log, consumerOf('retrying', key), async ({ sequence }) => {
        seen.push(sequence);
        if (sequence === second && refuse > 0) {
          refuse -= 1;
          return retryIn(20);
        }
        return done;
      }),
    );
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual([first, second, second, second, third]);
  });

  it('begins with new messages only, if requested', async () => {
    const key = aRun();
    const sequences = await history(log, key);
    const seen: number[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await consume(log, { ...consumerOf('new', key), deliver: 'new' }, async ({ sequence }) => {
        seen.push(sequence);
        return done;
      }),
    );
    const more = await append(log, assigned(key, { attempt: 2 }), sequences.at(-1) ?? 0);
    await expect
      .poll(() => seen, { timeout: 10_000 })
      .toEqual(more.kind === 'appended' ? [more.sequence] : []);
  });

  it('handles one message at a time, however many are waiting', async () => {
    const keys = Array.from({ length: 300 }, () => aRun());
    const [{ org_id } = aRun()] = keys;
    for (const { run_id } of keys) await append(log, queued({ org_id, run_id }), 0);
    const seen: number[] = [];
    let inside = 0;
    let most = 0;
    const options = { ...consumerOf('one-by-one', aRun()), subjects: [`runs.${org_id}.>`] };
    await using consumption = await consume(log, options, async ({ sequence }) => {
      inside += 1;
      most = Math.max(most, inside);
      await setImmediate();
      inside -= 1;
      seen.push(sequence);
      return done;
    });
    await waitFor('all messages', () => seen.length === keys.length);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(most).toBe(1);
    expect(consumption.state()).toEqual({ ok: true });
  });

  it('acknowledges what was handled, soon and at its end', async () => {
    const key = aRun();
    const sequences = await history(log, key);
    const unacknowledged = async (): Promise<number> =>
      (await log.jsm.consumers.info('RUNS', 'acknowledging')).num_ack_pending;
    const seen: number[] = [];
    const consumption = await consume(log, consumerOf('acknowledging', key), async ({ sequence }) => {
      seen.push(sequence);
      return done;
    });
    await waitFor('all messages', () => seen.length === sequences.length);
    await waitFor('the acknowledgement', async () => (await unacknowledged()) === 0);
    await append(log, assigned(key, { attempt: 2 }), sequences.at(-1) ?? 0);
    await waitFor('one more', () => seen.length === sequences.length + 1);
    await consumption[Symbol.asyncDispose]();
    await waitFor('the last acknowledgement', async () => (await unacknowledged()) === 0);
  });
});

describe('an event of a later release', () => {
  it('stops the consumption with an error, and is not skipped', async () => {
    const key = aRun();
    const [, , third = 0] = await history(log, key);
    const event = { ...assigned(key, { attempt: 2 }), version: 2 };
    const newer = await log.js.publish(
      runEventSubject(assigned(key, { attempt: 2 })),
      JSON.stringify(event),
      {
        expect: { lastSubjectSequence: third, lastSubjectSequenceSubject: lifecycleFilter(key) },
      },
    );
    const seen: number[] = [];
    await using consumption = await consume(log, consumerOf('older-release', key), async ({ sequence }) => {
      seen.push(sequence);
      return done;
    });
    const error = await consumption.failed;
    expect(error).toBeInstanceOf(NewerVersion);
    expect(error).toMatchObject({ type: 'RunAssigned', version: 2, sequence: newer.seq });
    expect(consumption.state()).toEqual({ ok: false, why: error.message });
    expect(seen).toHaveLength(3);
    await consumption[Symbol.asyncDispose]();
    await waitFor('its acknowledgement', async () => {
      const { num_ack_pending } = await log.jsm.consumers.info('RUNS', 'older-release');
      return num_ack_pending === 1;
    });
  });

  it.each([
    ['stops the consumption with a type that a service has added', requeued, false],
    ['does not stop it with a type that an executor made up', started, true],
  ] as const)('%s', async (_what, like, ok) => {
    const key = aRun();
    const [, , third = 0] = await history(log, key);
    await storeOfLaterType(log, like(key), third);
    let handled = 0;
    await using consumption = await consume(log, consumerOf(`of-later-type-${ok}`, key), async () => {
      handled += 1;
      return done;
    });
    await expect.poll(() => [handled, consumption.state().ok], { timeout: 10_000 }).toEqual([ok ? 4 : 3, ok]);
  });

  it('does not stop the consumption when its fence is forged', async () => {
    const key = aRun();
    const event = { ...assigned(key), version: 2 };
    await log.js.publish(runEventSubject(assigned(key)), JSON.stringify(event));
    let handled = 0;
    await using consumption = await consume(log, consumerOf('not-fooled', key), async () => {
      handled += 1;
      return done;
    });
    await expect.poll(() => handled, { timeout: 10_000 }).toBe(1);
    expect(consumption.state()).toEqual({ ok: true });
  });
});
