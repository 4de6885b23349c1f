import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { projectionStart } from '../../../src/projection/core/projection-start.ts';
import { aRun, queued } from '@runledger/testing/events/run-events';

const log = {
  stream: 'RUNS',
  created: '2026-01-01T00:00:00Z',
  firstSequence: 1,
  lastSequence: 10,
  bytes: 1,
  maxBytes: -1,
} as const;
const event = queued(aRun());
const message = { subject: '', sequence: 7, time: '', fence: null, expectedSequence: 0 };
const last: StoredMessage = { ...message, body: event };
const position = { stream_created: log.created, sequence: 7, event_id: event.event_id };

describe('a projection', () => {
  it('continues when the log has the event of its position', () => {
    expect(projectionStart(position, log, last)).toEqual({ kind: 'continue', after: 7 });
    expect(projectionStart({ ...position, sequence: 0, event_id: null }, log, undefined)).toEqual({
      kind: 'continue',
      after: 0,
    });
  });

  it('continues after a message that is not an event', () => {
    const noEvent = { ...message, body: undefined };
    expect(projectionStart({ ...position, event_id: null }, log, noEvent)).toMatchObject({
      kind: 'continue',
    });
  });

  it('continues after an expired message', () => {
    expect(projectionStart(position, { ...log, firstSequence: 9 }, undefined)).toEqual({
      kind: 'continue',
      after: 7,
    });
  });

  it.each([
    ['there is no position', undefined, log, undefined, 'no position'],
    ['the log is another one', position, { ...log, created: '2027' }, last, 'come from a log created at'],
    ['the log lost its end', position, { ...log, lastSequence: 6 }, undefined, 'lost its end'],
    ['another event stands there', position, log, { ...last, body: queued(aRun()) }, 'does not hold'],
    ['nothing stands there', position, log, undefined, 'does not hold'],
  ] as const)('starts again when %s', (_name, given, identity, stored, because) => {
    const start = projectionStart(given, identity, stored);
    expect(start).toMatchObject({ kind: 'start_again', because: expect.stringContaining(because) });
  });
});
