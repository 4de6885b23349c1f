import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptMessage, EMPTY_HISTORY, type StoredMessage } from '../../src/fold/chain.ts';
import { evolveRun } from '../../src/fold/evolve-run.ts';
import { readChain } from '../../src/fold/read-chain.ts';
import { RUN_CHAIN, type RunHistory } from '../../src/fold/run-chain.ts';
import { isDeleted } from '../../src/fold/run.ts';
import { RUN_EVENT_TYPES, type RunEvent } from '../../src/events/run-event.ts';
import { anEvent, EXECUTOR, factOf, runAfter, stored, timeOf } from '../fixtures/run-events.ts';

const history = [
  anEvent('RunQueued'),
  anEvent('RunAssigned'),
  anEvent('RunStarted'),
  anEvent('RunSucceeded'),
];
const chain = [
  stored(anEvent('RunQueued'), 5, 0),
  stored(anEvent('RunAssigned'), 8, 5),
  stored(anEvent('RunStarted'), 9, 8),
  stored(anEvent('RunSucceeded'), 12, 9),
];
const folded = (messages: readonly StoredMessage[]): RunHistory => {
  const read = readChain(RUN_CHAIN, messages);
  if (read.kind !== 'whole') throw new Error(read.kind);
  return read.history;
};
const outputsDeleted = (sequence: number, expected: number): StoredMessage =>
  stored(anEvent('RunOutputsDeleted'), sequence, expected);
const runDeleted = (sequence: number, expected: number): StoredMessage =>
  stored(anEvent('RunDeleted'), sequence, expected);
const { outputs } = anEvent('RunSucceeded').data;

describe('deleted outputs of a run', () => {
  it('are gone from the run, which stays as it ended, and remain to be erased', () => {
    const before = runAfter(...history);
    const after = runAfter(...history, anEvent('RunOutputsDeleted'));
    expect(after).toEqual({
      ...before,
      outputs: [],
      output_bytes: 0,
      updated_at: timeOf(5),
      deleted_outputs: { deleted_at: timeOf(5), to_erase: { outputs, outputs_blob: null } },
    });
  });

  it('are deleted once, and only of a run that has ended', () => {
    const again = [...chain, outputsDeleted(20, 12), outputsDeleted(21, 20)];
    expect(readChain(RUN_CHAIN, again)).toMatchObject({ refused: [{ refusal: 'impossible' }] });
    const early = [...chain.slice(0, 3), outputsDeleted(20, 9)];
    expect(readChain(RUN_CHAIN, early)).toMatchObject({
      history: { state: { status: 'running' } },
      refused: [{ refusal: 'impossible' }],
    });
  });

  it('are deleted of a run that the log no longer holds, for a reader that knows the run', () => {
    expect(acceptMessage(RUN_CHAIN, folded(chain), outputsDeleted(90, 0))).toMatchObject({
      kind: 'accepted',
      state: { status: 'success', outputs: [] },
    });
    expect(acceptMessage(RUN_CHAIN, EMPTY_HISTORY, outputsDeleted(90, 0))).toMatchObject({ kind: 'gap' });
    expect(acceptMessage(RUN_CHAIN, EMPTY_HISTORY, outputsDeleted(90, 12))).toMatchObject({ kind: 'gap' });
    expect(acceptMessage(RUN_CHAIN, folded(chain), outputsDeleted(90, 50))).toMatchObject({ kind: 'gap' });
  });
});

describe('a deleted run', () => {
  const deleted = { status: 'deleted', number: 1, created_at: timeOf(1), deleted_at: timeOf(20) };

  it.each<[string, readonly StoredMessage[]]>([
    ['everything', [...chain, runDeleted(20, 12)]],
    ['all but the beginning', [...chain.slice(1), runDeleted(20, 12)]],
    ['the end', [...chain.slice(3), runDeleted(20, 12)]],
    ['nothing', [runDeleted(20, 0)]],
    ['nothing but that the deletion followed a fact', [runDeleted(20, 12)]],
    ['deleted outputs', [outputsDeleted(19, 0), runDeleted(20, 19)]],
  ])('is deleted when the log holds %s before it', (_what, messages) => {
    expect(readChain(RUN_CHAIN, messages)).toMatchObject({
      kind: 'whole',
      history: { head: 20, state: deleted },
      refused: [],
    });
  });

  it('keeps what a reader knew of its outputs, until their files are erased', () => {
    const to_erase = { outputs, outputs_blob: null };
    expect(folded([...chain, runDeleted(20, 12)]).state).toMatchObject({ to_erase });
    expect(folded([...chain, outputsDeleted(19, 12), runDeleted(20, 19)]).state).toMatchObject({ to_erase });
    expect(acceptMessage(RUN_CHAIN, folded(chain), runDeleted(20, 0))).toMatchObject({ state: { to_erase } });
    expect(folded([runDeleted(20, 0)]).state).toMatchObject({
      to_erase: { outputs: [], outputs_blob: null },
    });
  });

  it('does not hide a fact that a reader has not seen', () => {
    const known = folded(chain.slice(0, 3));
    expect(acceptMessage(RUN_CHAIN, known, runDeleted(20, 12))).toMatchObject({ kind: 'gap' });
  });

  it('cannot be written by an executor', () => {
    const { subject } = stored(anEvent('RunFailed'), 20, 12);
    expect(readChain(RUN_CHAIN, [...chain, { ...runDeleted(20, 12), subject }])).toMatchObject({
      history: { state: { status: 'success' } },
      refused: [{ refusal: 'wrong_subject' }],
    });
  });

  it('stays deleted, whatever is stored behind it', () => {
    const anyEvent = fc
      .record({
        type: fc.constantFrom(...RUN_EVENT_TYPES),
        attempt: fc.integer({ min: 0, max: 3 }),
        executor: fc.constantFrom(EXECUTOR, null),
      })
      .map(({ type, attempt, executor }): RunEvent => anEvent(type, {}, { attempt, executor }));
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 20 }), (events) => {
        const first = evolveRun(runAfter(...history), factOf(anEvent('RunDeleted'), 5));
        if ('impossible' in first || !isDeleted(first)) throw new Error('it is not deleted');
        for (const event of events) expect(evolveRun(first, factOf(event, 9))).toHaveProperty('impossible');
      }),
    );
  });

  it('says who deleted it and what is erased, and names its blobs for whoever erases them', () => {
    const blob = (digit: string) => ({ sha256: digit.repeat(64), bytes: 5_000 });
    const request = anEvent('RunQueued', { inputs: null, inputs_blob: blob('1') });
    const ended = anEvent('RunSucceeded', { outputs: null, outputs_blob: blob('2'), log_blob: blob('3') });
    const [key_id, erases] = [
      request.event_id,
      { files: 2, file_bytes: 10, inputs_bytes: 5_000, outputs_bytes: 5_000, log_bytes: 5_000 },
    ];
    const messages = [
      stored(request, 5, 0),
      stored(anEvent('RunAssigned'), 8, 5),
      stored(anEvent('RunStarted'), 9, 8),
      stored(ended, 12, 9),
    ];
    const deletion = anEvent('RunDeleted', { key_id, erases });
    const { user_id } = deletion.data;
    expect(folded([...messages, stored(deletion, 20, 12)]).state).toMatchObject({
      deleted_by: { user_id, key_id },
      erases,
      to_erase: { outputs: null, outputs_blob: blob('2'), blobs: [blob('1'), blob('2'), blob('3')] },
    });
  });
});
