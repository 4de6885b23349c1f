import type { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { newUuid } from '@runledger/contracts/ids';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Receiver } from '../../src/core/receiver.ts';
import { NOTHING_LEFT } from '../../src/core/partition.ts';
import { SECOND, type SimulatedCore } from './simulated-core.ts';
import { append, loseTimers, simulateLog, stallTimers, type SimulatedLog } from './simulated-log.ts';
import type { Behaviour, Circumstances } from './simulated-attempts.ts';
import { startNotifier } from './simulated-notifier.ts';

type Step =
  | { readonly do: 'end' | 'change' | 'progress'; readonly run: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'kill' }
  /** What waits in TIMERS is never due. */
  | { readonly do: 'stall' }
  /** The oldest messages of TIMERS are lost. */
  | { readonly do: 'lose'; readonly timers: number };

const RUNS = 12;
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constantFrom('end', 'end', 'end', 'change', 'change', 'progress'),
      run: fc.nat(RUNS - 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.oneof(fc.nat(50), fc.nat(2_000), fc.nat(40_000)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('kill' as const, 'stall' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('lose' as const),
      timers: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constant(RUNS)),
    }),
  },
);
const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  afterMs: fc.oneof(fc.nat(20), fc.nat(15_000)),
  reason: fc.constantFrom<DeliveryAttemptResult>(
    'accepted',
    'accepted',
    'server_error',
    'client_error',
    'timed_out',
    'connect_refused',
    'no_dns',
    'interrupted',
    'gone',
  ),
});

const A = newUuid();
const B = newUuid();
/** Two organisations at three origins, one of which they share. */
const RECEIVERS: readonly Receiver[] = [
  { org_id: A, origin: 'https://shared.example' },
  { org_id: B, origin: 'https://shared.example' },
  { org_id: A, origin: 'https://a.example' },
  { org_id: B, origin: 'https://b.example' },
];
/** At least the longest opening, and the probes after it. */
const CALM_MS = 1_200 * SECOND;

const play = (
  steps: readonly Step[],
  behaviours: readonly Behaviour[],
  { maxInFlight, room }: { readonly maxInFlight: number; readonly room: number },
): void => {
  const log = simulateLog(RUNS, RECEIVERS, room);
  let calm = false;
  let made = 0;
  const circumstances: Circumstances = {
    maxInFlight,
    behave: () => {
      const planned = behaviours[made++ % Math.max(behaviours.length, 1)];
      return calm || !planned ? { afterMs: 5, reason: 'accepted' } : planned;
    },
    // Nobody waits for hours here.
    waitOf: (ms) => Math.min(ms, 40 * SECOND),
  };
  let core = startNotifier(log, 0, circumstances);
  for (const one of steps) {
    if (one.do === 'wait') core.pass(one.ms);
    else if (one.do === 'kill') core = startNotifier(log, core.elapsed(), circumstances);
    else if (one.do === 'stall') stallTimers(log, core.now());
    else if (one.do === 'lose') loseTimers(log, one.timers);
    else happen(log, core, one.do, one.run);
  }
  calm = true;
  core.pass(CALM_MS);
  expectAllSettled(log, core);
};

/** A run that has ended once more is one that somebody asks to be sent again. */
const happen = (
  log: SimulatedLog,
  core: SimulatedCore,
  what: 'end' | 'change' | 'progress',
  at: number,
): void => {
  const run = log.runs[at];
  if (!run) return;
  if (what !== 'end')
    return core.take(append(log, run, what === 'change' ? 'changed' : 'progress', core.now()));
  if (run.round > 0 && !run.settled) return;
  const kind = run.round === 0 ? 'ended' : 'redelivery';
  run.round += 1;
  run.settled = false;
  if (kind === 'ended') run.endedAt = core.now();
  core.take(append(log, run, kind, core.now()));
};

const expectAllSettled = (log: SimulatedLog, { state }: SimulatedCore): void => {
  expect(log.runs.filter(({ round, settled }) => round > 0 && !settled)).toEqual([]);
  expect([...log.timers.keys()]).toEqual([]);
  expect([...log.openings.keys(), ...log.dueOpenings.keys()]).toEqual([]);
  const { outboxes, attempts, leftRetries, waiting, limits } = state;
  const remaining = [outboxes.size, attempts.size, leftRetries.size, waiting, limits.inFlight];
  expect(remaining).toEqual(remaining.map(() => 0));
  expect([...state.partitions.values()].map(({ busy }) => busy)).toEqual([...state.partitions].map(() => 0));
  // Everything that was read is settled: the next holder begins behind it.
  for (const [number, { runs, activity, sweptUpTo, left }] of state.partitions) {
    expect(runs.low(), `partition ${number}`).toBe(runs.taken());
    expect(activity.low(), `partition ${number}`).toBe(activity.taken());
    expect(sweptUpTo, `partition ${number}`).toBe(runs.low());
    expect(left, `partition ${number}`).toEqual(NOTHING_LEFT);
  }
};

const expectAlways = (property: fc.IProperty<[Step[], Behaviour[]]>): void =>
  fc.assert(property, { numRuns: casesOf(10) });

describe('a random history of runs, of receivers that answer in any way, of notifiers that are killed, and of lost timers', () => {
  it.each([
    { maxInFlight: 1, room: Infinity },
    { maxInFlight: 4, room: 3 },
    { maxInFlight: 100, room: Infinity },
    { maxInFlight: 100, room: 3 },
    { maxInFlight: 100, room: 0 },
  ])(
    'settles every final notification, in order and one at a time for each run: %o',
    (limits) => {
      const steps = fc.array(step, { minLength: 5, maxLength: 150 });
      const behaviours = fc.array(behaviour, { maxLength: 100 });
      expectAlways(fc.property(steps, behaviours, (each, how) => play(each, how, limits)));
    },
    60_000,
  );
});
