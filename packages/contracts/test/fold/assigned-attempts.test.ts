import fc from 'fast-check';
import { expect, it } from 'vitest';
import { assignedAttempts, isStray, RUN_CHAIN } from '../../src/fold/run-chain.ts';
import { readChain } from '../../src/fold/read-chain.ts';
import { isDeleted, isEnded, isExecuting, type RunState } from '../../src/fold/run.ts';
import { RUN_EVENT_TYPES, RUN_EVENTS, type RunEventType } from '../../src/events/run-event.ts';
import { parseLifecycleSubject } from '../../src/events/subjects.ts';
import type { StoredMessage } from '../../src/fold/chain.ts';
import { anEvent, EXECUTOR, ORG, OTHER_EXECUTOR, RUN, stored } from '../fixtures/run-events.ts';

const KEY = { org_id: ORG, run_id: RUN };
const OF_EXECUTORS = RUN_EVENT_TYPES.filter((type) => RUN_EVENTS[type].writer === 'executor');

/** A service stores what follows from the run that it has read. An executor may store anything about any attempt, on any condition that holds. */
type Move =
  | { readonly by: 'service'; readonly type: 'RunAssigned' | 'RunRequeued' | 'RunTimedOut' }
  | {
      readonly by: 'executor';
      readonly type: RunEventType;
      readonly attempt: number;
      readonly fenced: boolean;
    };

const move = fc.tuple(
  fc.constantFrom(EXECUTOR, OTHER_EXECUTOR),
  fc.oneof(
    { weight: 2, arbitrary: fc.constant({ by: 'service', type: 'RunAssigned' } as const) },
    { weight: 1, arbitrary: fc.constant({ by: 'service', type: 'RunRequeued' } as const) },
    { weight: 1, arbitrary: fc.constant({ by: 'service', type: 'RunTimedOut' } as const) },
    {
      weight: 8,
      arbitrary: fc.record({
        by: fc.constant('executor' as const),
        type: fc.constantFrom(...OF_EXECUTORS),
        attempt: fc.integer({ min: 1, max: 4 }),
        fenced: fc.boolean(),
      }),
    },
  ),
);

const stateOf = (messages: readonly StoredMessage[]): RunState | undefined => {
  const read = readChain(RUN_CHAIN, messages);
  return read.kind === 'whole' ? read.history.state : undefined;
};

/** As the broker stores it: a fence names the message before. */
const logOf = (moves: readonly (readonly [string, Move])[]): StoredMessage[] => {
  const messages = [stored(anEvent('RunQueued'), 1, 0)];
  for (const [executor, next] of moves) {
    const at = messages.length + 1;
    const store = (about: { attempt: number; executor: string }, fenced: boolean): StoredMessage =>
      stored(anEvent(next.type, {}, about), at, at - 1, fenced ? {} : { fence: null });
    if (next.by === 'executor') {
      messages.push(store({ attempt: next.attempt, executor }, next.fenced));
      continue;
    }
    const run = stateOf(messages);
    if (!run || isDeleted(run) || isEnded(run)) continue;
    const { number = 0, executor_id = executor } = run.attempt ?? {};
    const about = isExecuting(run)
      ? { attempt: number, executor: executor_id }
      : { attempt: number + 1, executor };
    const more = [...messages, store(about, true)];
    if (stateOf(more) !== undefined && stateOf(more)?.status !== run.status) messages.push(...more.slice(-1));
  }
  return messages;
};

const disturbedRun = fc.array(move, { maxLength: 30 });

it('a reader without strays, but for those before its facts and the last message, folds what a reader of everything does', () => {
  fc.assert(
    fc.property(disturbedRun, (all) => {
      const messages = logOf(all);
      const services = messages.filter(
        ({ subject }) => parseLifecycleSubject(subject)?.writer !== 'executor',
      );
      const attempts = assignedAttempts(KEY, services);
      const isOut = (message: StoredMessage): boolean => isStray(attempts, message);
      const own = messages.filter((message) => !isOut(message));
      const before = new Set(own.map(({ expectedSequence }) => expectedSequence));
      const read = messages.filter(
        (message) => !isOut(message) || before.has(message.sequence) || message === messages.at(-1),
      );
      const [part, whole] = [readChain(RUN_CHAIN, read, isOut), readChain(RUN_CHAIN, messages)];
      if (part.kind !== 'whole' || whole.kind !== 'whole') throw new Error(`${part.kind}, ${whole.kind}`);
      expect(part.history).toEqual(whole.history);
      expect(part.facts).toEqual(whole.facts);
    }),
    { numRuns: 300 },
  );
});

it('no message is a stray that a reader of everything takes for a fact', () => {
  fc.assert(
    fc.property(disturbedRun, (all) => {
      const messages = logOf(all);
      const attempts = assignedAttempts(KEY, messages);
      const whole = readChain(RUN_CHAIN, messages);
      const facts = new Set(whole.kind === 'whole' ? whole.facts.map(({ sequence }) => sequence) : []);
      expect(messages.filter((message) => facts.has(message.sequence) && isStray(attempts, message))).toEqual(
        [],
      );
    }),
    { numRuns: 300 },
  );
});

it('a gap before a message that is no stray stays one, and so does any of a run that is not known', () => {
  const queued = stored(anEvent('RunQueued'), 1, 0);
  const assigned = stored(anEvent('RunAssigned'), 2, 1);
  const attempts = assignedAttempts(KEY, [queued, assigned]);
  const isOut = (message: StoredMessage): boolean => isStray(attempts, message);
  const ofOther = stored(anEvent('RunStarted', {}, { executor: OTHER_EXECUTOR }), 9, 8);
  const gap = { kind: 'gap', expected: 8 };
  expect(readChain(RUN_CHAIN, [queued, assigned, stored(anEvent('RunStarted'), 9, 8)], isOut)).toMatchObject(
    gap,
  );
  expect(readChain(RUN_CHAIN, [queued, assigned, stored(anEvent('RunTimedOut'), 9, 8)], isOut)).toMatchObject(
    gap,
  );
  expect(readChain(RUN_CHAIN, [ofOther], isOut)).toMatchObject(gap);
  expect(readChain(RUN_CHAIN, [queued, assigned, ofOther], isOut)).toMatchObject({
    kind: 'whole',
    history: { head: 9, state: { status: 'started' } },
    refused: [
      { message: { sequence: 9 }, refusal: 'impossible', why: 'no attempt was assigned to its writer' },
    ],
  });
});
