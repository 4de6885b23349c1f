import { newUuid } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { aRun, assigned, queued, requeued, started, succeeded } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelRun } from '../../../src/runs/facts/cancel-run.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { aKit } from '../../fixtures/gateway/a-kit.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';
import type { EventLog } from '@runledger/event-log/connect/event-log';

const user = { user_id: newUuid(), traceparent: null };

/** Another writer appends the events, one before each append of the log's user. */
const racing = (log: EventLog, ...events: RunEvent[]): EventLog => {
  const publish: EventLog['js']['publish'] = async (...message) => {
    const event = events.shift();
    if (event) await appendAll(log, event);
    return log.js.publish(...message);
  };
  return { ...log, js: Object.create(log.js, { publish: { value: publish } }) };
};

const cancelling = (
  log: EventLog,
): { readonly conflicts: () => number; cancel: ReturnType<typeof cancelRun> } => {
  let conflicts = 0;
  const cancel = cancelRun(
    aKit({ log, metrics: { conflict: () => (conflicts += 1) } }),
    async () => ({ kind: 'none' }),
    async () => undefined,
  );
  return { cancel, conflicts: () => conflicts };
};

const typesOf = async (log: EventLog, key: RunKey): Promise<string[]> => {
  const read = await readRun(log, key);
  return read.kind === 'found' ? read.facts.map(({ event }) => event.type) : [];
};

describe('the cancellation of a run', () => {
  let test: TestLog;
  let log: EventLog;
  beforeAll(async () => {
    test = await aLog();
    ({ log } = test);
  });
  afterAll(() => test[Symbol.asyncDispose]());

  it('is decided again when the run is assigned first', async () => {
    const key = aRun();
    await appendAll(log, queued(key));
    const { cancel, conflicts } = cancelling(racing(log, assigned(key)));
    expect(await cancel(key, user)).toMatchObject({
      kind: 'answered',
      answer: { outcome: 'cancellation_requested' },
      isNew: true,
    });
    expect(conflicts()).toBe(1);
    expect(await typesOf(log, key)).toEqual(['RunQueued', 'RunAssigned', 'RunCancelRequested']);
  });

  it('writes nothing when the run ends first', async () => {
    const key = aRun();
    await appendAll(log, queued(key), assigned(key), started(key));
    const { cancel } = cancelling(racing(log, succeeded(key)));
    expect(await cancel(key, user)).toMatchObject({ kind: 'answered', answer: { outcome: 'already_ended' } });
    expect((await typesOf(log, key)).at(-1)).toBe('RunSucceeded');
  });

  it('leaves out a run whose status changes first to one that was not requested', async () => {
    const key = aRun();
    await appendAll(log, queued(key));
    const { cancel } = cancelling(racing(log, assigned(key)));
    expect(await cancel(key, user, ['queued'])).toEqual({ kind: 'status_excluded' });
    expect(await typesOf(log, key)).toEqual(['RunQueued', 'RunAssigned']);
  });

  it('is given up while the run changes before every append', async () => {
    const key = aRun();
    await appendAll(log, queued(key));
    const changes = Array.from({ length: 5 }, (_, n) => [
      assigned(key, { attempt: n + 1 }),
      requeued(key, n + 1),
    ]);
    const { cancel, conflicts } = cancelling(racing(log, ...changes.flat()));
    expect(await cancel(key, user)).toEqual({ kind: 'too_busy' });
    expect(conflicts()).toBe(10);
    expect(await typesOf(log, key)).not.toContain('RunCancelRequested');
  });

  it('reports that the run is unknown when neither the log nor the views have it', async () => {
    const { cancel } = cancelling(log);
    expect(await cancel(aRun(), user)).toEqual({ kind: 'none' });
  });
});
