import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptMessage, EMPTY_HISTORY, type StoredMessage } from '../../src/fold/chain.ts';
import { readChain } from '../../src/fold/read-chain.ts';
import { RUN_CHAIN, type RunHistory } from '../../src/fold/run-chain.ts';
import { isDeleted, isEnded } from '../../src/fold/run.ts';
import { followsEnd, RUN_EVENT_TYPES, RUN_EVENTS } from '../../src/events/run-event.ts';
import { anEvent, EXECUTOR, ORG, OTHER_EXECUTOR, RUN, stored } from '../fixtures/run-events.ts';

const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
};

const chain = [
  stored(anEvent('RunQueued'), 5, 0),
  stored(anEvent('RunAssigned'), 8, 5),
  stored(anEvent('RunStarted'), 9, 8),
  stored(anEvent('RunSucceeded'), 12, 9),
];

describe('a whole chain of fences', () => {
  it('folds to the run, in any order of the messages', () => {
    const read = readChain(RUN_CHAIN, chain.toReversed());
    expect(read).toMatchObject({
      kind: 'whole',
      history: { head: 12, state: { status: 'success', number: 5 } },
      refused: [],
    });
  });

  it('without messages has head 0, which fences the first append', () => {
    expect(readChain(RUN_CHAIN, [])).toMatchObject({ kind: 'whole', history: EMPTY_HISTORY });
  });
});

describe('an invalid message in the chain of a run', () => {
  const forgeries: [string, string, Partial<StoredMessage>][] = [
    ['without a fence', 'forged_fence', { fence: null }],
    ['fenced on its own subject only', 'forged_fence', { fence: `runs.${ORG}.${RUN}.life.started.>` }],
    ['with a fence but no expected sequence', 'forged_fence', { expectedSequence: null }],
    ['that is no event', 'invalid', { body: { hello: 'there' } }],
    ['that is no JSON', 'invalid', { body: undefined }],
    [
      'of another subject than its content',
      'wrong_subject',
      { body: anEvent('RunStarted', {}, { executor: OTHER_EXECUTOR }) },
    ],
    [
      'of another run than its subject',
      'wrong_subject',
      { body: { ...anEvent('RunStarted'), run_id: '01920000-0000-7000-8000-0000000000ff' } },
    ],
    [
      'that nests deeper than anybody could write it down again',
      'invalid',
      { body: { ...anEvent('RunStarted'), data: { deep: nested(100_000) } } },
    ],
    ['of a type that misses a member', 'invalid', { body: { ...anEvent('RunStarted'), data: undefined } }],
  ];

  it.each(forgeries)('%s is refused as %s, and becomes the head', (_what, refusal, forgery) => {
    const forged = { ...stored(anEvent('RunStarted'), 9, 8), ...forgery };
    const honest = stored(anEvent('RunFailed'), 14, 9);
    const read = readChain(RUN_CHAIN, [...chain.slice(0, 2), forged, honest]);
    expect(read).toMatchObject({ kind: 'whole', history: { head: 14, state: { status: 'failed' } } });
    expect(read).toMatchObject({ refused: [{ refusal, message: { sequence: 9 } }] });
  });

  it('is refused if it cannot follow', () => {
    const late = stored(anEvent('RunStarted'), 20, 12);
    expect(readChain(RUN_CHAIN, [...chain, late])).toMatchObject({
      kind: 'whole',
      history: { head: 20, state: { status: 'success' } },
      refused: [{ refusal: 'impossible' }],
    });
  });
});

describe('a chain with a gap', () => {
  it('is not folded if an event is missing', () => {
    const read = readChain(
      RUN_CHAIN,
      [chain[0], chain[2]].filter((message) => message !== undefined),
    );
    expect(read).toEqual({ kind: 'gap', after: 5, expected: 8, sequence: 9 });
  });

  it('is not folded if its beginning has expired', () => {
    expect(readChain(RUN_CHAIN, chain.slice(1))).toMatchObject({ kind: 'gap', after: 0, expected: 5 });
  });
});

describe('the end of a run that outlives its log', () => {
  const end = (sequence: number, expected: number): StoredMessage =>
    stored(anEvent('RunExpired'), sequence, expected);
  const expired = { status: 'failed', end_reason: 'log_expired', number: 1, attempt: { number: 1 } };

  it.each<[string, readonly StoredMessage[]]>([
    ['everything', [...chain.slice(0, 3), end(20, 9)]],
    ['all but the beginning', [...chain.slice(1, 3), end(20, 9)]],
    ['its last fact', [...chain.slice(2, 3), end(20, 9)]],
    ['nothing', [end(20, 0)]],
    ['nothing but that the end followed a fact', [end(20, 9)]],
  ])('is the end of its history when the log holds %s before it', (_what, messages) => {
    expect(readChain(RUN_CHAIN, messages)).toMatchObject({
      kind: 'whole',
      history: { head: 20, state: expired },
      refused: [],
    });
  });

  it('is accepted by a reader that knows facts which have expired since, and by one that does not', () => {
    const known = readChain(RUN_CHAIN, chain.slice(0, 3));
    if (known.kind !== 'whole') throw new Error(known.kind);
    expect(acceptMessage(RUN_CHAIN, known.history, end(20, 0))).toMatchObject({
      kind: 'accepted',
      state: { ...expired, request: { inputs: { size: 512 } } },
    });
    expect(readChain(RUN_CHAIN, [end(20, 0)])).toMatchObject({
      history: { state: { ...expired, request: { inputs: { size: 512 } } } },
    });
  });

  it('does not hide a fact that a reader has not seen', () => {
    const known = readChain(RUN_CHAIN, chain.slice(0, 2));
    if (known.kind !== 'whole') throw new Error(known.kind);
    expect(acceptMessage(RUN_CHAIN, known.history, end(20, 9))).toMatchObject({ kind: 'gap' });
  });

  it('ends no run that has ended', () => {
    expect(readChain(RUN_CHAIN, [...chain, end(20, 12)])).toMatchObject({
      history: { state: { status: 'success' } },
      refused: [{ refusal: 'impossible' }],
    });
  });

  it('is the last fact: nothing follows it', () => {
    const late = stored(anEvent('RunSucceeded'), 21, 20);
    expect(readChain(RUN_CHAIN, [end(20, 0), late])).toMatchObject({
      history: { head: 21, state: expired },
      refused: [{ refusal: 'impossible' }],
    });
  });

  it('cannot be written by an executor', () => {
    const { subject } = stored(anEvent('RunFailed'), 20, 0);
    expect(readChain(RUN_CHAIN, [{ ...end(20, 9), subject }])).toMatchObject({ kind: 'gap' });
    expect(readChain(RUN_CHAIN, [{ ...end(20, 0), subject }])).toMatchObject({
      history: { state: undefined },
      refused: [{ refusal: 'wrong_subject' }],
    });
  });
});

describe('a message of a later release', () => {
  it('stops the reader if its version is newer', () => {
    const newer = stored(anEvent('RunAssigned'), 8, 5, { body: { ...anEvent('RunAssigned'), version: 2 } });
    expect(readChain(RUN_CHAIN, [...chain.slice(0, 1), newer])).toEqual({
      kind: 'newer_version',
      type: 'RunAssigned',
      version: 2,
      sequence: 8,
    });
  });

  it('does not stop the reader under the subject of another type', () => {
    const claim = { ...anEvent('RunQueued'), version: 99 };
    const forged = stored(anEvent('RunStarted'), 9, 8, { body: claim });
    expect(acceptMessage(RUN_CHAIN, { head: 8, state: undefined }, forged)).toMatchObject({
      kind: 'refused',
      refusal: 'wrong_subject',
    });
  });

  const paused = { type: 'RunPaused', version: 1 };

  it.each(['paused', 'ended'])('stops the reader if a service stored a type that is new: %s', (fact) => {
    const { subject } = stored(anEvent('RunRequeued'), 8, 5);
    const newer = {
      ...stored(anEvent('RunRequeued'), 8, 5, { body: paused }),
      subject: subject.replace('requeued', fact),
    };
    expect(readChain(RUN_CHAIN, [...chain.slice(0, 1), newer])).toEqual({
      kind: 'newer_version',
      ...paused,
      sequence: 8,
    });
  });

  it('stops no reader under a name that is no type, or with a type that belongs to notifications', () => {
    const under = (type: string) =>
      acceptMessage(
        RUN_CHAIN,
        { head: 8, state: undefined },
        stored(anEvent('RunRequeued'), 9, 8, { body: { type, version: 1 } }),
      );
    expect(under('not a type')).toMatchObject({ kind: 'refused', refusal: 'invalid' });
    expect(under('WebhookStarted')).toMatchObject({ kind: 'refused', refusal: 'wrong_subject' });
  });
});

describe('a redelivered message', () => {
  it('changes nothing', () => {
    const [first] = chain;
    expect(first && acceptMessage(RUN_CHAIN, { head: 5, state: undefined }, first)).toEqual({
      kind: 'known',
    });
  });
});

describe('any sequence of well-fenced events', () => {
  const anyEvent = fc
    .record({
      type: fc.constantFrom(...RUN_EVENT_TYPES),
      attempt: fc.integer({ min: 0, max: 3 }),
      executor: fc.constantFrom(EXECUTOR, OTHER_EXECUTOR, null),
    })
    .map(({ type, attempt, executor }) => anEvent(type, {}, { attempt, executor }));

  it('folds to a run that never leaves a final status, unless it is deleted', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
        let history: RunHistory = EMPTY_HISTORY;
        for (const [index, event] of [anEvent('RunQueued'), ...events].entries()) {
          const next = acceptMessage(RUN_CHAIN, history, stored(event, index + 1, index));
          if (next.kind !== 'accepted' && next.kind !== 'refused') throw new Error(`unexpected ${next.kind}`);
          const { state } = next.history;
          const before = history.state;
          const isFinal = before === undefined || !isEnded(before) || state === before;
          const isDeletion = followsEnd(RUN_EVENTS[event.type].fact) && state !== undefined;
          expect(isFinal || (isDeletion && (isDeleted(state) || state.status === before.status))).toBe(true);
          expect(next.history.head).toBe(index + 1);
          history = next.history;
        }
        expect(history.state?.number).toBe(1);
      }),
    );
  });

  it('never throws for any message', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.option(fc.integer()), fc.string(), (body, expectedSequence, subject) => {
        const message = {
          subject,
          sequence: 1,
          time: '2026-01-01T00:00:00.000Z',
          fence: null,
          expectedSequence,
          body,
        };
        expect(acceptMessage(RUN_CHAIN, EMPTY_HISTORY, message).kind).toBe('refused');
      }),
    );
  });
});
