import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RUN_EVENTS, RUN_EVENT_TYPES, type RunEventType } from '../../src/events/run-event.ts';
import { acceptMessage, EMPTY_HISTORY, type StoredMessage } from '../../src/fold/chain.ts';
import { readChain, walkChain } from '../../src/fold/read-chain.ts';
import { RUN_CHAIN, type RunHistory } from '../../src/fold/run-chain.ts';
import { isDeleted, isExecuting, type RunState } from '../../src/fold/run.ts';
import { anEvent, EXECUTOR, OTHER_EXECUTOR, runAfter, stored } from '../fixtures/run-events.ts';

const TYPES = RUN_EVENT_TYPES.filter((type) => RUN_EVENTS[type].writer === 'executor');

interface About {
  readonly attempt?: number;
  readonly executor?: string;
}

const inVersion = (
  type: RunEventType,
  version: number,
  sequence: number,
  about: About = {},
): StoredMessage => {
  const event = anEvent(type, {}, about);
  return stored(event, sequence, sequence - 1, { body: { ...event, version } });
};

const queued = stored(anEvent('RunQueued'), 1, 0);
const assigned = stored(anEvent('RunAssigned'), 2, 1);
/** An assignment as a later release stores it. */
const assignedWith = (fact_versions: Readonly<Record<string, number>>): StoredMessage =>
  stored(anEvent('RunAssigned', { fact_versions }), 2, 1);
const read = (...messages: readonly StoredMessage[]) => readChain(RUN_CHAIN, messages);

describe('what an executor writes in a version that no release knows', () => {
  it.each(TYPES)('is no fact, and the run goes on behind it: %s', (type) => {
    const end = stored(anEvent('RunFailed'), 4, 3);
    expect(read(queued, assigned, inVersion(type, 99, 3), end)).toMatchObject({
      kind: 'whole',
      history: { head: 4, state: { status: 'failed' } },
      refused: [{ refusal: 'invalid', why: `${type} is in version 99, and its writer may use 1 at most` }],
    });
  });

  it('is no fact, and the run goes on behind it: a type that no release knows', () => {
    const invented = stored(anEvent('RunStarted'), 3, 2, { body: { type: 'RunInvented', version: 1 } });
    expect(read(queued, assigned, invented, stored(anEvent('RunFailed'), 4, 3))).toMatchObject({
      kind: 'whole',
      history: { head: 4, state: { status: 'failed' } },
      refused: [{ refusal: 'invalid', why: 'no assignment lets its writer store RunInvented' }],
    });
  });

  it.each<[string, readonly StoredMessage[], About]>([
    ['that nobody knows', [], {}],
    ['that is queued', [queued], {}],
    ['of another executor', [queued, assigned], { executor: OTHER_EXECUTOR }],
    ['of another attempt', [queued, assigned], { attempt: 2 }],
    ['that has ended', [queued, assigned, stored(anEvent('RunFailed'), 3, 2)], {}],
    ['that is deleted', [stored(anEvent('RunDeleted'), 1, 0)], {}],
  ])('stops no reader of a run %s', (_what, before, about) => {
    const newer = inVersion('RunSucceeded', 99, before.length + 1, about);
    const known = read(...before);
    expect(read(...before, newer)).toMatchObject({
      kind: 'whole',
      history: { head: before.length + 1, state: known.kind === 'whole' ? known.history.state : null },
      refused: [{ refusal: 'invalid' }],
    });
  });
});

describe('an assignment that names later versions', () => {
  const started = stored(anEvent('RunStarted'), 3, 2);
  const before = [queued, assignedWith({ RunSucceeded: 3 }), started];

  it('lets an executor use them: a reader that does not know them stops', () => {
    for (const version of [2, 3])
      expect(read(...before, inVersion('RunSucceeded', version, 4))).toEqual({
        kind: 'newer_version',
        type: 'RunSucceeded',
        version,
        sequence: 4,
      });
  });

  it.each<[string, StoredMessage]>([
    ['a later version', inVersion('RunSucceeded', 4, 4)],
    ['another type', inVersion('RunFailed', 2, 4)],
    ['another executor', inVersion('RunSucceeded', 2, 4, { executor: OTHER_EXECUTOR })],
    ['another attempt', inVersion('RunSucceeded', 2, 4, { attempt: 2 })],
  ])('allows no more than that: %s', (_what, message) =>
    expect(read(...before, message)).toMatchObject({ kind: 'whole', refused: [{ refusal: 'invalid' }] }),
  );

  it('says nothing of other attempts', () => {
    const again = [...before, stored(anEvent('RunRequeued'), 4, 3)];
    expect(read(...again, inVersion('RunSucceeded', 2, 5))).toMatchObject({ kind: 'whole' });
    const second = stored(anEvent('RunAssigned', {}, { attempt: 2 }), 5, 4);
    expect(read(...again, second, inVersion('RunSucceeded', 2, 6, { attempt: 2 }))).toMatchObject({
      kind: 'whole',
      refused: [{ refusal: 'invalid' }],
    });
  });

  it('is in the state that readers keep, so that one of them can go on with what another one has read', () => {
    const state = runAfter(
      anEvent('RunQueued'),
      anEvent('RunAssigned', { fact_versions: { RunSucceeded: 2 } }),
    );
    const kept: RunHistory = { head: 3, state: JSON.parse(JSON.stringify(state)) as typeof state };
    expect(acceptMessage(RUN_CHAIN, kept, inVersion('RunSucceeded', 2, 4)).kind).toBe('newer_version');
  });

  it('is not known behind a gap, so a later version is shown as one', () => {
    const steps = walkChain(RUN_CHAIN, [queued, started, inVersion('RunSucceeded', 2, 4)]);
    expect(steps.map(({ kind }) => kind)).toEqual(['fact', 'gap', 'fact', 'newer']);
  });
});

/** A type of executors that only the later release knows. */
const LATER_TYPE = 'RunResting';

/** Reads every fact of an executor in version 2 too: as version 1; and the later type as RunUploading. */
const LATER_RELEASE: typeof RUN_CHAIN = {
  ...RUN_CHAIN,
  parse: (body) => {
    const { type, version } = Object(body);
    const present = type === LATER_TYPE ? 'RunUploading' : type;
    const known = TYPES.includes(present) && version === 2 ? 1 : version;
    const parsed = RUN_CHAIN.parse({ ...Object(body), type: present, version: known });
    return parsed.kind === 'event' ? { ...parsed, type, version } : parsed;
  },
};

const anyMessage = fc.record({
  type: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...TYPES) },
    fc.constantFrom<RunEventType>('RunAssigned', 'RunRequeued', 'RunCancelRequested'),
  ),
  version: fc.constantFrom(1, 2, 99),
  attempt: fc.integer({ min: 1, max: 3 }),
  executor: fc.constantFrom(EXECUTOR, OTHER_EXECUTOR),
  assigned: fc.dictionary(fc.constantFrom(...TYPES, LATER_TYPE), fc.constantFrom(1, 2)),
  isOfLaterType: fc.boolean(),
});

/** The body of each has a version that its writer may not have. */
const logOf = (drawn: readonly (typeof anyMessage extends fc.Arbitrary<infer One> ? One : never)[]) =>
  drawn.map(({ type, version, attempt, executor, assigned: fact_versions, isOfLaterType }, n) => {
    const isOfExecutor = TYPES.includes(type);
    const data = type === 'RunAssigned' ? { fact_versions } : {};
    const event = anEvent(type, data, { attempt, executor });
    const stored_type = type === 'RunUploading' && isOfLaterType ? LATER_TYPE : type;
    return stored(event, n + 2, n + 1, {
      body: { ...event, type: stored_type, version: isOfExecutor ? version : 1 },
    });
  });

/** Whether the assignment of the attempt that is under way allows this version to the executor that the message is from. */
const isAllowed = (run: RunState | undefined, { body }: StoredMessage): boolean => {
  const { type, version, attempt, executor_id } = Object(body);
  if (!run || isDeleted(run) || !isExecuting(run)) return false;
  const { number, executor_id: executor, fact_versions = {} } = run.attempt;
  return (
    number === attempt &&
    executor === executor_id &&
    version <= (fact_versions[type] ?? (type === LATER_TYPE ? 0 : 1))
  );
};

/** Where readers of two releases do not know the same; undefined when they do, or the older one stops where it has to. */
const disagreement = (messages: readonly StoredMessage[]): string | undefined => {
  let older: RunHistory = EMPTY_HISTORY;
  let later: RunHistory = EMPTY_HISTORY;
  for (const message of messages) {
    const byOlder = acceptMessage(RUN_CHAIN, older, message);
    const byLater = acceptMessage(LATER_RELEASE, later, message);
    if (byOlder.kind === 'newer_version')
      return isAllowed(older.state, message) ? undefined : `the older one stops at ${message.sequence}`;
    if (!('history' in byOlder) || !('history' in byLater)) return `${byOlder.kind}, ${byLater.kind}`;
    older = byOlder.history;
    later = byLater.history;
    if (!isDeepStrictEqual(older, later)) return `they differ at ${message.sequence}`;
  }
  return undefined;
};

describe('readers of two releases', () => {
  it('know the same run, until the older one stops at what an assignment allows', () =>
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 30 }), (drawn) => {
        expect(disagreement([queued, ...logOf(drawn)])).toBeUndefined();
      }),
      { numRuns: 1_000 },
    ));

  it('are stopped by no executor whose assignment allows nothing', () =>
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 30 }), (drawn) => {
        const messages = logOf(drawn.map((one) => ({ ...one, assigned: {} })));
        expect(read(queued, ...messages)).toMatchObject({
          kind: 'whole',
          history: { head: messages.length + 1 },
        });
      }),
    ));
});
