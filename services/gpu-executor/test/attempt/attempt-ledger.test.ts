import { errorOf } from '@runledger/contracts/events/run-error';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { executorId, newUuid } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { lifecycleFilter, runEventSubject } from '@runledger/contracts/events/subjects';
import { describe, expect, it } from 'vitest';
import { anAttempt, expired } from '@runledger/testing/run-events';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { openLedger, type AttemptLedger, type LedgerSettings } from '../../src/attempt/attempt-ledger.ts';
import { readAssignment } from '../../src/attempt/assignment.decide.ts';
import { beginFacts } from '../../src/attempt/attempt-facts.decide.ts';
import { anAssignedRun } from '../fixtures/assigned-run.ts';

const run = anAssignedRun({ executor: executorId('box.0a1b2c3d4e5f'), publicKey: 'key', program: 'render' });
const HEAD = 12;

const stored = (event: RunEvent, sequence: number, expected: number): StoredMessage => ({
  subject: runEventSubject(event),
  sequence,
  time: '2026-01-01T00:00:00.000Z',
  fence: lifecycleFilter(run),
  expectedSequence: expected,
  body: event,
});

interface StoredAppend {
  event: RunEvent;
  expected: number;
}

const openWith = (
  settings: Pick<LedgerSettings, 'append' | 'look'> & Partial<LedgerSettings>,
): AttemptLedger => {
  const read = readAssignment(stored(run.assigned, 10, 5));
  if (read.kind !== 'assignment') throw new Error(read.kind);
  return openLedger(beginFacts(read.assignment, read.head), {
    newId: newUuid,
    now: () => new Date(),
    closing: new AbortController().signal,
    disconnected: new AbortController().signal,
    onExpired: () => undefined,
    log: silentLogger,
    ...settings,
  });
};

/** A ledger on a log with a message at HEAD that was not delivered. What the ledger appends is delivered. */
const ledgerOn = (unseen?: StoredMessage): { ledger: AttemptLedger; appended: [string, number][] } => {
  const appended: [string, number][] = [];
  const ledger = openWith({
    append: async (event, expected) => {
      if (expected < HEAD) return { kind: 'conflict', head: HEAD };
      const sequence = HEAD + 1 + appended.length;
      appended.push([event.type, expected]);
      queueMicrotask(() => ledger.receive(stored(event, sequence, expected)));
      return { kind: 'appended', sequence };
    },
    look: async (subjects) => (unseen && subjects.includes(unseen.subject) ? [unseen] : []),
  });
  return { ledger, appended };
};

const appendEnd = (ledger: AttemptLedger): Promise<boolean> =>
  ledger.append(({ cancel }) =>
    cancel === null
      ? {
          type: 'RunFailed',
          data: { error: errorOf('program_exit', 'no'), outputs: [], outputs_blob: null },
        }
      : { type: 'RunCancelled', data: { forced: false, outputs: [], outputs_blob: null } },
  );

describe.concurrent('a fact that was not delivered, at the head of an append', () => {
  it('is looked up when it is late: a cancel request changes the end', async () => {
    const { ledger, appended } = ledgerOn(stored(run.cancelRequested, HEAD, 10));
    expect(await appendEnd(ledger)).toBe(true);
    expect(appended).toEqual([['RunCancelled', HEAD]]);
    expect(ledger.stop.aborted).toBe(true);
  });

  it('ends the attempt when it requeued the run: nothing more is stored', async () => {
    const { ledger, appended } = ledgerOn(stored(run.requeued, HEAD, 10));
    expect(await appendEnd(ledger)).toBe(false);
    expect(appended).toEqual([]);
  });

  it('ends the attempt when only a later release can read it: nothing more is stored', async () => {
    const fact = stored(run.cancelRequested, HEAD, 10);
    const { ledger, appended } = ledgerOn({ ...fact, body: { ...run.cancelRequested, version: 2 } });
    expect(await appendEnd(ledger)).toBe(false);
    expect(await appendEnd(ledger)).toBe(false);
    expect(appended).toEqual([]);
  });

  it('is skipped when it is forged', async () => {
    const { ledger, appended } = ledgerOn({ ...stored(run.requeued, HEAD, 10), fence: null });
    expect(await appendEnd(ledger)).toBe(true);
    expect(appended).toEqual([['RunFailed', HEAD]]);
  });

  it('is skipped when this executor may not read it', async () => {
    const { ledger, appended } = ledgerOn();
    expect(await appendEnd(ledger)).toBe(true);
    expect(appended).toEqual([['RunFailed', HEAD]]);
  });

  it('is waited for while the log is unavailable', async () => {
    let unavailable = 2;
    const appended: StoredAppend[] = [];
    const ledger = openWith({
      append: async (event, expected) => {
        if (expected < HEAD) return { kind: 'conflict', head: HEAD };
        appended.push({ event, expected });
        return { kind: 'appended', sequence: HEAD + 1 };
      },
      look: async () => {
        unavailable -= 1;
        return unavailable > 0 ? undefined : [stored(run.cancelRequested, HEAD, 10)];
      },
    });
    expect(await appendEnd(ledger)).toBe(true);
    expect(appended.map(({ event }) => event.type)).toEqual(['RunCancelled']);
  });
});

describe('a fact that was stored after a skipped one', () => {
  it('does not count when the skipped one was a cancel request: a new end is stored', async () => {
    const appended: StoredAppend[] = [];
    const ledger = openWith({
      append: async (event, expected) => {
        if (expected < HEAD) return { kind: 'conflict', head: HEAD };
        const sequence = HEAD + 1 + appended.length;
        appended.push({ event, expected });
        // Late, but in the order of the log.
        setTimeout(() => {
          ledger.receive(stored(run.cancelRequested, HEAD, 10));
          ledger.receive(stored(event, sequence, expected));
        });
        return { kind: 'appended', sequence };
      },
      look: async () => [],
    });
    expect(await appendEnd(ledger)).toBe(true);
    expect(appended.map(({ event, expected }) => [event.type, expected])).toEqual([
      ['RunFailed', HEAD],
      ['RunCancelled', HEAD + 1],
    ]);
  });
});

describe('a fact that was stored after a skipped one, when the consumer has ended', () => {
  it('is not waited for: the scheduler decides', async () => {
    const disconnected = new AbortController();
    const appended: string[] = [];
    const ledger = openWith({
      append: async (event, expected) => {
        if (expected < HEAD) return { kind: 'conflict', head: HEAD };
        appended.push(event.type);
        queueMicrotask(() => disconnected.abort());
        return { kind: 'appended', sequence: HEAD + 1 };
      },
      look: async () => [],
      disconnected: disconnected.signal,
    });
    expect(await appendEnd(ledger)).toBe(false);
    expect(appended).toEqual(['RunFailed']);
  });
});

describe('a fact whose acknowledgement was lost', () => {
  it('counts as stored when it is delivered, also after conflicts', async () => {
    const appended: StoredAppend[] = [];
    const ledger = openWith({
      append: async (event, expected) => {
        appended.push({ event, expected });
        if (appended.length === 2) ledger.receive(stored(event, HEAD, expected));
        return { kind: 'conflict', head: undefined };
      },
      look: async () => [],
    });
    expect(await appendEnd(ledger)).toBe(true);
    expect(new Set(appended.map(({ event }) => event.event_id)).size).toBe(1);
    expect(appended).toHaveLength(2);
  });
});

describe('an append to a run whose facts have expired from the log', () => {
  it.each([0, 4])('stops the attempt, and logs an error: the head is %s', async (head) => {
    const logged: object[] = [];
    let expired = 0;
    let seconds = 0;
    const ledger = openWith({
      // Longer than any server can be behind that the others have replaced.
      now: () => new Date((seconds += 15) * 1_000),
      append: async () => ({ kind: 'conflict', head }),
      look: async () => [],
      onExpired: () => (expired += 1),
      log: { ...silentLogger, error: (fields) => logged.push(fields) },
    });
    expect(await appendEnd(ledger)).toBe(false);
    expect(ledger.stop.aborted).toBe(true);
    expect(logged).toEqual([{ run_id: run.run_id, attempt: 1, known: 10, head }]);
    expect(expired).toBe(1);
  });

  it('is tried again at first: the leader may be behind what was delivered', async () => {
    const heads = [4, 4];
    const ledger = openWith({
      append: async () => {
        const head = heads.shift();
        return head === undefined ? { kind: 'appended', sequence: HEAD } : { kind: 'conflict', head };
      },
      look: async () => [],
    });
    expect(await appendEnd(ledger)).toBe(true);
    expect(heads).toEqual([]);
  });

  it('is tried again when the log does not report the head', async () => {
    let tries = 0;
    const ledger = openWith({
      append: async () => {
        tries += 1;
        return tries === 1 ? { kind: 'conflict', head: undefined } : { kind: 'appended', sequence: HEAD };
      },
      look: async () => [],
    });
    expect(await appendEnd(ledger)).toBe(true);
    expect(tries).toBe(2);
  });
});

describe('the end of a run that outlived the log', () => {
  it('stops its attempt, even if the log has no earlier fact of it', () => {
    const ledger = openWith({ append: async () => ({ kind: 'conflict', head: 0 }), look: async () => [] });
    const { attempt, executor_id } = ledger.assignment;
    const end = expired(run, { attempt: anAttempt(attempt, executor_id) });
    expect(ledger.receive(stored(end, 40, 0))).toBeNull();
    expect(ledger.stop.aborted).toBe(true);
  });
});
