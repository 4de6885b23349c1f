import type { RunKey } from '@runledger/contracts/events/subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { hashOf } from '@runledger/event-log/append/previous-hash';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { casesOf } from '@runledger/testing/random/cases';
import { aRun, assigned, deleted, queued, requeued, started, succeeded } from '@runledger/testing/run-events';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinRun, runToArchive } from '../../src/archive/join.decide.ts';

const RUN = aRun();

/** As a log stores them, each behind the one before. `from`: the sequence of the first. */
const chain = (events: readonly RunEvent[], from = 10, key: RunKey = RUN): StoredMessage[] => {
  const stored: StoredMessage[] = [];
  for (const event of events) {
    const last = stored.at(-1);
    const body = { ...event, ...(last?.data && { previous_sha256: hashOf(last.data) }) };
    stored.push({
      subject: RUN_CHAIN.subjectOf(event),
      sequence: last ? last.sequence + 7 : from,
      time: new Date(Date.UTC(2026, 0, 1) + stored.length).toISOString(),
      fence: RUN_CHAIN.filterOf(key),
      expectedSequence: last?.sequence ?? 0,
      body,
      data: Buffer.from(JSON.stringify(body)),
    });
  }
  return stored;
};

const FACTS = [
  queued(RUN),
  assigned(RUN),
  started(RUN),
  requeued(RUN),
  assigned(RUN, { attempt: 2 }),
  succeeded(RUN),
];
const WHOLE = chain(FACTS);
const of = (life: readonly StoredMessage[]): MessagesOfRun => ({ life, webhook: [] });
const NONE = of([]);
const part = fc.nat(FACTS.length);

describe('a run that is half in the log and half in the archive', () => {
  it('is whole, wherever the log begins, if the archive has what it lost', () => {
    fc.assert(
      fc.property(part, part, (lost, archived) => {
        const joined = joinRun(of(WHOLE.slice(lost)), of(WHOLE.slice(0, Math.max(lost, archived))));
        expect(joined.life).toEqual(WHOLE);
      }),
      { numRuns: casesOf(50) },
    );
  });

  it('is archived whole, and archiving it again changes nothing', () => {
    fc.assert(
      fc.property(part, part, (lost, archived) => {
        const log = of(WHOLE.slice(lost));
        const once = runToArchive(log, of(WHOLE.slice(0, Math.max(lost, archived))));
        expect(once.life).toEqual(WHOLE);
        expect(runToArchive(log, once)).toEqual(once);
        expect(runToArchive(NONE, once)).toEqual(once);
      }),
      { numRuns: casesOf(50) },
    );
  });

  it('keeps the end that a log which was restored from an older copy lacks, and shows what the log has', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: FACTS.length }), (stored) => {
        const log = of(WHOLE.slice(0, stored));
        expect(joinRun(log, of(WHOLE))).toEqual(log);
        expect(runToArchive(log, of(WHOLE)).life).toEqual(WHOLE);
      }),
      { numRuns: casesOf(20) },
    );
  });

  it('has nothing of what happened in a log that was restored and went on otherwise', () => {
    // The copy had the first two; the next fact is another one.
    const later = chain([...FACTS.slice(0, 2), succeeded(RUN)]).map((message, n) =>
      n < 2 ? message : { ...message, sequence: message.sequence + 1 },
    );
    const archived = runToArchive(of(later), of(WHOLE));
    expect(archived.life).toEqual(later);
    expect(joinRun(of(later.slice(2)), archived).life).toEqual(later);
  });

  it('is the log alone when what came before says something else than the log rests on', () => {
    const changed = WHOLE.map((message, n) => (n === 1 ? { ...message, data: Buffer.from('{}') } : message));
    expect(joinRun(of(WHOLE.slice(2)), of(changed)).life).toEqual(WHOLE.slice(2));
  });

  it('goes on behind what the log has forgotten, with a deletion that follows nothing there', () => {
    const deletion = chain([deleted(RUN)], 90);
    expect(joinRun(of(deletion), of(WHOLE)).life).toEqual([...WHOLE, ...deletion]);
    // Of another log, whose positions are later ones.
    const early = chain([deleted(RUN)], 3);
    expect(joinRun(of(early), of(WHOLE)).life).toEqual(early);
  });

  it('counts a message without a fence for its place alone', () => {
    const stray = { ...(WHOLE[2] as StoredMessage), fence: null, expectedSequence: null, sequence: 40 };
    expect(joinRun(of([stray]), of(WHOLE)).life).toEqual([
      ...WHOLE.filter(({ sequence }) => sequence < 40),
      stray,
    ]);
  });
});
