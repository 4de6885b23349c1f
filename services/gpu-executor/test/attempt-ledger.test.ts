import type { StoredMessage } from '@runledger/contracts/history';
import { executorId, newUuid } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/run-event';
import { lifecycleOf, subjectOf } from '@runledger/contracts/subjects';
import { describe, expect, it } from 'vitest';
import { openLedger, type AttemptLedger } from '../src/attempt-ledger.ts';
import { readAssignment } from '../src/domain/assignment.ts';
import { beginFacts } from '../src/domain/attempt-facts.ts';
import { aRun } from './service/an-assigned-run.ts';

const run = aRun({ executor: executorId('box.0a1b2c3d4e5f'), publicKey: 'key', program: 'render' });
const HEAD = 12;

const stored = (event: RunEvent, sequence: number, rests: number): StoredMessage => ({
  subject: subjectOf(event),
  sequence,
  time: '2026-01-01T00:00:00.000Z',
  fence: lifecycleOf(run),
  expectedSequence: rests,
  body: event,
});

/** A ledger on a log in which something stands at HEAD that this executor has not been told of. */
const ledgerOn = (unseen: StoredMessage): { ledger: AttemptLedger; told: [string, number][] } => {
  const read = readAssignment(stored(run.assigned, 10, 5));
  if (read.kind !== 'assignment') throw new Error(read.kind);
  const told: [string, number][] = [];
  const ledger = openLedger(read.assignment, beginFacts(read.history), {
    append: async (event, expected) => {
      if (expected < HEAD) return { kind: 'conflict', head: HEAD };
      told.push([event.type, expected]);
      return { kind: 'appended', sequence: HEAD + 1 };
    },
    read: async (sequence) => (sequence === HEAD ? unseen : undefined),
    newId: newUuid,
    now: () => new Date(),
    closing: new AbortController().signal,
    log: { warn: () => undefined },
  });
  return { ledger, told };
};

const tellEnd = (ledger: AttemptLedger): Promise<boolean> =>
  ledger.tell(({ cancel }) =>
    cancel === null
      ? { type: 'RunFailed', data: { reason: 'workflow_error', message: 'no', outputs: [] } }
      : { type: 'RunCancelled', data: { forced: false, outputs: [] } },
  );

describe('a fact that stands in the way of an append and was not delivered', () => {
  it('is looked up when it is late: a cancel request changes the end', async () => {
    const { ledger, told } = ledgerOn(stored(run.cancelRequested, HEAD, 10));
    expect(await tellEnd(ledger)).toBe(true);
    expect(told).toEqual([['RunCancelled', HEAD]]);
    expect(ledger.stop.aborted).toBe(true);
  });

  it('ends the attempt when it took the run away: nothing is told any more', async () => {
    const { ledger, told } = ledgerOn(stored(run.requeued, HEAD, 10));
    expect(await tellEnd(ledger)).toBe(false);
    expect(told).toEqual([]);
  });

  it('is passed over when it is forged', async () => {
    const { ledger, told } = ledgerOn({ ...stored(run.requeued, HEAD, 10), fence: null });
    expect(await tellEnd(ledger)).toBe(true);
    expect(told).toEqual([['RunFailed', HEAD]]);
  });
});
