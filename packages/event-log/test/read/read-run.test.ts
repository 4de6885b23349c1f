import { lifecycleFilter, runEventSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import { head, readRun } from '../../src/read/read-run.ts';
import { readStored } from '../../src/read/run-messages.ts';
import { runsIdentity } from '../../src/read/stream-identity.ts';
import { aLog, anEmptyLog, forge, type TestLog } from '../fixtures/test-log.ts';
import {
  aRun,
  assigned,
  EXECUTOR,
  queued,
  requeued,
  started,
  succeeded,
} from '@runledger/testing/run-events';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const history = async (key: RunKey, ...events: Parameters<typeof append>[1][]): Promise<number[]> => {
  const sequences = [0];
  for (const event of events) {
    const result = await append(log, event, sequences.at(-1) ?? 0);
    if (result.kind === 'conflict') throw new Error(`conflict at ${result.head}`);
    sequences.push(result.sequence);
  }
  expect(await head(log, key)).toBe(sequences.at(-1));
  return sequences.slice(1);
};

describe('readRun', () => {
  it('folds the appended facts', async () => {
    const key = aRun();
    const sequences = await history(
      key,
      queued(key),
      assigned(key),
      requeued(key),
      assigned(key, { attempt: 2 }),
      started(key, 2),
    );
    const read = await readRun(log, key);
    expect(read).toMatchObject({
      kind: 'found',
      run: { status: 'running', number: sequences[0], attempt: { number: 2, executor_id: EXECUTOR } },
      history: { head: sequences.at(-1) },
      refused: [],
    });
    if (read.kind !== 'found') throw new Error('unreachable');
    expect(read.facts.map(({ sequence }) => sequence)).toEqual(sequences);
    expect(read.run.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('finds no run of another organisation', async () => {
    const key = aRun();
    await history(key, queued(key));
    expect(await readRun(log, { ...key, org_id: aRun().org_id })).toEqual({ kind: 'none', head: 0 });
  });

  it('returns the history of the leader when more was expected', async () => {
    const key = aRun();
    const [first = 0] = await history(key, queued(key));
    expect(await readRun(log, key, { atLeast: first + 1 })).toMatchObject({
      kind: 'found',
      history: { head: first },
    });
  });

  it('gives a single stored message', async () => {
    const key = aRun();
    const event = queued(key);
    const [first = 0] = await history(key, event);
    expect(await readStored(log, first)).toMatchObject({
      subject: runEventSubject(event),
      sequence: first,
      fence: lifecycleFilter(key),
      expectedSequence: 0,
      body: event,
    });
    expect(await readStored(log, first + 1_000_000)).toBeUndefined();
  });

  it('identifies the log', async () => {
    const identity = await runsIdentity(log);
    expect(identity).toMatchObject({ stream: 'RUNS', maxBytes: 2 * 1024 ** 3 });
    expect(identity.bytes).toBeGreaterThan(0);
    expect(identity.lastSequence).toBeGreaterThanOrEqual(identity.firstSequence);
  });
});

describe('a forged event is stored by the broker and ignored by readRun', () => {
  it('without a fence', async () => {
    const key = aRun();
    const [first = 0] = await history(key, queued(key));
    const forged = await forge(log, runEventSubject(assigned(key)), assigned(key));
    expect(await readRun(log, key)).toMatchObject({
      kind: 'found',
      run: { status: 'queued' },
      history: { head: forged },
      facts: [{ sequence: first }],
      refused: [{ refusal: 'forged_fence', message: { sequence: forged } }],
    });
  });

  it('with a fence on another filter', async () => {
    const key = aRun();
    const [first = 0] = await history(key, queued(key));
    const event = assigned(key);
    await forge(log, runEventSubject(event), event, {
      filter: `runs.${key.org_id}.${key.run_id}.>`,
      sequence: first,
    });
    expect(await readRun(log, key)).toMatchObject({
      run: { status: 'queued' },
      refused: [{ refusal: 'forged_fence' }],
    });
  });

  it('when it hides the earlier event under its subject', async () => {
    const key = aRun();
    const [first = 0, second] = await history(key, queued(key), assigned(key));
    await forge(log, runEventSubject(queued(key)), { type: 'nonsense' });
    const forged = await forge(log, runEventSubject(assigned(key)), assigned(key));
    expect(await readRun(log, key)).toMatchObject({
      kind: 'found',
      run: { status: 'started', number: first },
      facts: [{ sequence: first }, { sequence: second }],
      history: { head: forged },
      refused: { length: 2 },
    });
  });

  it('when it hides the only event', async () => {
    const key = aRun();
    const [first = 0] = await history(key, queued(key));
    await forge(log, runEventSubject(queued(key)), queued(key));
    expect(await readRun(log, key)).toMatchObject({
      kind: 'found',
      run: { number: first },
      refused: { length: 1 },
    });
  });

  it('and the run continues behind it', async () => {
    const key = aRun();
    await history(key, queued(key));
    const forged = await forge(log, runEventSubject(queued(key)), {});
    expect(await append(log, assigned(key), forged)).toMatchObject({ kind: 'appended' });
    expect(await readRun(log, key)).toMatchObject({ run: { status: 'started' }, refused: { length: 1 } });
  });

  it('and creates no run', async () => {
    const key = aRun();
    const forged = await forge(log, runEventSubject(queued(key)), queued(key));
    expect(await readRun(log, key)).toEqual({ kind: 'none', head: forged });
    expect(await append(log, queued(key), forged)).toMatchObject({ kind: 'appended' });
    expect(await readRun(log, key)).toMatchObject({ kind: 'found', run: { status: 'queued' } });
  });
});

describe('an event of a later release', () => {
  it('is reported, and nothing is folded', async () => {
    const key = aRun();
    const [first = 0] = await history(key, queued(key));
    const event = { ...assigned(key), version: 2 };
    const sequence = await forge(log, runEventSubject(assigned(key)), event, {
      filter: lifecycleFilter(key),
      sequence: first,
    });
    expect(await readRun(log, key)).toEqual({
      kind: 'newer_version',
      type: 'RunAssigned',
      version: 2,
      sequence,
    });
  });
});

describe('a broken history', () => {
  it('is reported when an event is missing', async () => {
    await using weak = await anEmptyLog();
    await weak.log.jsm.streams.add({ name: 'RUNS', subjects: ['runs.>'], allow_direct: true });
    const key = aRun();
    const first = await append(weak.log, queued(key), 0);
    if (first.kind === 'conflict') throw new Error('unreachable');
    const second = await append(weak.log, assigned(key), first.sequence);
    await weak.log.jsm.streams.deleteMessage('RUNS', first.sequence);

    expect(await readRun(weak.log, key)).toEqual({
      kind: 'damaged',
      why: expect.stringMatching(new RegExp(`run ${key.run_id} .* the log has no event before it`)),
      after: 0,
      expected: first.sequence,
      sequence: second.kind === 'appended' ? second.sequence : undefined,
    });
  });

  it('is reported when an assignment is missing, whose attempt nobody knows then', async () => {
    await using weak = await anEmptyLog();
    await weak.log.jsm.streams.add({ name: 'RUNS', subjects: ['runs.>'], allow_direct: true });
    const key = aRun();
    const at = [0];
    for (const event of [queued(key), assigned(key), started(key), succeeded(key)]) {
      const appended = await append(weak.log, event, at.at(-1) ?? 0);
      if (appended.kind === 'appended') at.push(appended.sequence);
    }
    await weak.log.jsm.streams.deleteMessage('RUNS', at[2] ?? 0);
    expect(await readRun(weak.log, key)).toMatchObject({
      kind: 'damaged',
      after: at[1],
      expected: at[2],
      sequence: at[3],
    });
  });

  it('accepts no append when its first event has expired', async () => {
    await using brief = await anEmptyLog();
    const second = 1_000_000_000;
    await brief.log.jsm.streams.add({
      name: 'RUNS',
      subjects: ['runs.>'],
      allow_direct: true,
      max_age: second / 2,
      duplicate_window: second / 2,
    });
    const key = aRun();
    const first = await append(brief.log, queued(key), 0);
    if (first.kind === 'conflict') throw new Error('unreachable');
    await expect.poll(() => head(brief.log, key), { timeout: 10_000 }).toBe(0);

    expect(await append(brief.log, assigned(key), first.sequence)).toEqual({ kind: 'conflict', head: 0 });
    await expect(append(brief.log, assigned(key), 0)).rejects.toThrow('cannot be appended at head 0');
    expect(await readRun(brief.log, key)).toEqual({ kind: 'none', head: 0 });
  });
});
