import { NO_RUNS } from '@runledger/contracts/fold/log-capacity';
import { describe, expect, it } from 'vitest';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunsIdentity } from '@runledger/event-log/read/stream-identity';
import {
  areComplete,
  beginningOf,
  projectionStart,
  withMissed,
  withUnread,
  type ProjectionPosition,
  type ProjectionStart,
} from '../../src/views/projection-start.decide.ts';
import { aRun, queued } from '@runledger/testing/run-events';

const log = {
  stream: 'RUNS',
  created: '2026-01-01T00:00:00Z',
  since: '2026-01-02T00:00:00Z',
  firstSequence: 1,
  lastSequence: 10,
  bytes: 1,
  maxBytes: -1,
} as const;
const run = aRun();
const ORG = run.org_id;
const event = queued(run);
const message = { subject: '', sequence: 7, time: '', fence: null, expectedSequence: 0 };
const last: StoredMessage = { ...message, body: event };
const position = {
  stream_created: log.created,
  derivation: 2,
  derived_from: log.created,
  sequence: 7,
  event_id: event.event_id,
  counts: { from: 1, live: 3, executing: 1 },
  missed: null,
};

const start = (
  position: ProjectionPosition | undefined,
  identity: RunsIdentity,
  last: StoredMessage | undefined,
  known?: ProjectionPosition,
): ProjectionStart => projectionStart({ position, last, known }, identity);

describe('a projection', () => {
  it('continues when the log has the event of its position', () => {
    expect(start(position, log, last)).toEqual({ kind: 'continue', from: position });
    const beginning = beginningOf(log, 1);
    expect(start(beginning, log, undefined)).toEqual({ kind: 'continue', from: beginning });
  });

  it('continues after a message that is not an event', () => {
    const noEvent = { ...message, body: undefined };
    expect(start({ ...position, event_id: null }, log, noEvent)).toMatchObject({ kind: 'continue' });
  });

  it('continues after an expired message', () => {
    const expired = { ...log, firstSequence: 8 };
    expect(start(position, expired, undefined)).toEqual({ kind: 'continue', from: position });
  });

  it('goes on behind facts that have expired before it had them, counts from there, and says what it lacks', () => {
    const expired = { ...log, firstSequence: 9 };
    const from = {
      ...position,
      sequence: 8,
      event_id: null,
      derived_from: log.since,
      counts: NO_RUNS,
      missed: { after: 7, up_to: 8, of: null },
    };
    expect(start(position, expired, undefined)).toEqual({ kind: 'continue', from });
    expect(start(from, expired, undefined)).toEqual({ kind: 'continue', from });
    expect(start(from, { ...log, firstSequence: 11 }, undefined)).toMatchObject({
      from: { sequence: 10, missed: { after: 7, up_to: 10, of: null } },
    });
  });

  it('has views that are complete with the log, unless facts have left it that they lack', () => {
    const expired = { ...log, firstSequence: 9 };
    expect(areComplete(position, log, ORG)).toBe(true);
    expect(areComplete(position, { ...log, firstSequence: 8 }, ORG)).toBe(true);
    expect(areComplete(position, expired, ORG)).toBe(false);
    expect(areComplete(withMissed(position, expired), expired, ORG)).toBe(false);
    expect(areComplete({ ...withMissed(position, expired), missed: null }, expired, ORG)).toBe(true);
    expect(areComplete(position, { ...log, created: '2027' }, ORG)).toBe(false);
    expect(areComplete(undefined, log, ORG)).toBe(false);
  });

  it('has views that are complete for each organisation but those whose objects could not be read', () => {
    const restored = withUnread(position, log);
    expect(restored.missed).toEqual({ after: 0, up_to: 0, of: null });
    expect(areComplete(restored, log, ORG)).toBe(false);
    const named = { ...restored, missed: { after: 0, up_to: 0, of: [ORG] } };
    expect([areComplete(named, log, ORG), areComplete(named, log, aRun().org_id)]).toEqual([false, true]);
    // What leaves the log next, any organisation may lack.
    const expired = { ...log, firstSequence: 9 };
    expect(withMissed(named, expired).missed).toEqual({ after: 0, up_to: 8, of: null });
  });

  it.each([
    ['is the one that this process wrote last', position],
    ['was moved by another gateway', { ...position, sequence: 3 }],
    [
      'is of another log than the one that this process knew',
      { ...position, stream_created: '2025', sequence: 90 },
    ],
  ])('continues when its position %s', (_what, known) => {
    expect(start(position, log, last, known)).toMatchObject({ kind: 'continue' });
  });

  it.each([
    ['there is no position', undefined, log, undefined, 'no position'],
    ['the log is another one', position, { ...log, created: '2027' }, last, 'come from a log created at'],
    ['the log lost its end', position, { ...log, lastSequence: 6 }, undefined, 'lost its end'],
    ['another event stands there', position, log, { ...last, body: queued(aRun()) }, 'does not hold'],
    ['nothing stands there', position, log, undefined, 'does not hold'],
  ] as const)('starts again when %s', (_name, given, identity, stored, because) => {
    expect(start(given, identity, stored)).toMatchObject({
      kind: 'start_again',
      because: expect.stringContaining(because),
    });
  });

  it('starts again when the views went back, since a copy may lack views that its position counts', () => {
    expect(start(position, log, last, { ...position, sequence: 8 })).toEqual({
      kind: 'start_again',
      because: 'the views had come to 8, and now they are at 7: they were restored from a copy',
    });
  });

  it('starts again when a copy of an earlier derivation is ahead of the present one', () => {
    const known = { ...position, derivation: 3, sequence: 2 };
    expect(start(position, log, last, known)).toMatchObject({ kind: 'start_again' });
    expect(start({ ...position, derivation: 4, sequence: 7 }, log, last, known)).toMatchObject({
      kind: 'continue',
    });
  });
});
