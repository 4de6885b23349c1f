import type { DeliveryAttemptResult } from '@runledger/contracts/deliveries/attempt-result';
import { newUuid, orgId, runId, type RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { openBreakers } from '../../../src/breaker/breakers.ts';
import type { AfterTry, FinalDelivery } from '../../../src/delivering/final-delivery.ts';
import { openDesk, type Desk } from '../../../src/delivering/run-desk.ts';
import { openDispatcher } from '../../../src/dispatch/dispatcher.ts';
import { nameOf, type Receiver, type Sent } from '../../../src/core/receivers/receiver.ts';
import { pass, SECOND, useStoppedTime } from '../receivers/observed-dispatcher.ts';

useStoppedTime();

type Step =
  | { readonly do: 'final'; readonly run: number; readonly again: boolean }
  | { readonly do: 'intermediate'; readonly run: number }
  | { readonly do: 'wait'; readonly ms: number };

interface Ending {
  readonly afterMs: number;
  readonly sent: DeliveryAttemptResult | 'nothing';
  readonly end: AfterTry['end'];
}

const RUNS = 12;
const run = fc.nat(RUNS - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('final' as const), run, again: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('intermediate' as const), run }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.oneof(fc.nat(50), fc.nat(2_000), fc.nat(40_000)),
    }),
  },
);
const ending: fc.Arbitrary<Ending> = fc.record({
  afterMs: fc.oneof(fc.nat(20), fc.nat(15_000)),
  sent: fc.constantFrom<Ending['sent']>(
    'accepted',
    'accepted',
    'server_error',
    'timed_out',
    'connect_refused',
    'no_dns',
    'interrupted',
    'nothing',
  ),
  end: fc.constantFrom<AfterTry['end']>('settled', 'settled', 'settled', 'superseded', 'interrupted'),
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

interface Told {
  readonly key: RunKey;
  readonly receiver: Receiver;
  /** The round that was told last. */
  round: number;
  inFlight: number;
  lastIntermediate: number;
  wasSettled: boolean;
}

/** Plays a log: every delivery is in it, or in hand, or parked, and everything is checked as it happens. */
const play = async (steps: readonly Step[], endings: readonly Ending[], most: number): Promise<void> => {
  // What an example that failed has left.
  vi.clearAllTimers();
  const told = Array.from({ length: RUNS }, (_, at): Told => {
    const receiver = RECEIVERS[at % RECEIVERS.length] ?? { org_id: '', origin: '' };
    return {
      key: { org_id: orgId(receiver.org_id), run_id: runId(newUuid()) },
      receiver,
      round: 0,
      inFlight: 0,
      lastIntermediate: -Infinity,
      wasSettled: false,
    };
  });
  const byRun = new Map<RunId, Told>(told.map((one) => [one.key.run_id, one]));
  const of = ({ run_id }: RunKey): Told => byRun.get(run_id) ?? expect.unreachable('a run of this log');
  /** How often a source of a final one was settled, or set aside; likewise the sources of intermediate ones. */
  const over = new Map<number, number>();
  const tellings = new Map<number, number>();
  const parked = new Map<string, FinalDelivery[]>();
  let sequence = 0;
  let made = 0;
  let settingAside = 0;
  let calm = false;
  let maximum = 0;

  const next = (): Ending => {
    const planned = endings[made++ % Math.max(endings.length, 1)];
    return calm || !planned ? { afterMs: 5, sent: 'accepted', end: 'settled' } : planned;
  };
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  const during = async <Answer>(one: Told, work: () => Promise<Answer>): Promise<Answer> => {
    one.inFlight += 1;
    expect(one.inFlight).toBe(1);
    maximum = Math.max(maximum, dispatcher.inFlight);
    const answer = await work();
    one.inFlight -= 1;
    return answer;
  };
  const settle = ({ source }: FinalDelivery): void => {
    over.set(source.sequence, (over.get(source.sequence) ?? 0) + 1);
    expect(over.get(source.sequence)).toBe(1);
  };
  const isOver = ({ source }: FinalDelivery): boolean => over.get(source.sequence) === 1;

  const breakers = openBreakers({ now: () => Date.now() });
  const dispatcher = openDispatcher({
    breakers,
    most,
    clock: () => Date.now(),
    refill: async (receiver, count) => {
      await sleep(1);
      const there = parked.get(nameOf(receiver)) ?? [];
      for (const delivery of there.splice(0, count)) desk.tellFinal(delivery);
      return there.length > 0 || settingAside > 0;
    },
  });
  const desk: Desk = openDesk({
    dispatcher,
    clock: () => Date.now(),
    tryFinal: (delivery) =>
      during(of(delivery.key), async () => {
        expect(isOver(delivery)).toBe(false);
        const { afterMs, sent, end } = next();
        await sleep(afterMs);
        if (end !== 'interrupted') of(delivery.key).wasSettled = true;
        return { sent, end };
      }),
    tryIntermediate: (key) =>
      during(of(key), async (): Promise<Sent> => {
        const one = of(key);
        expect(Date.now() - one.lastIntermediate).toBeGreaterThanOrEqual(SECOND);
        one.lastIntermediate = Date.now();
        // As the run is read before every try: after its end nothing is told.
        if (one.round > 0) return 'nothing';
        const { afterMs, sent } = next();
        await sleep(afterMs);
        return sent;
      }),
    putOff: async (delivery) => {
      settingAside += 1;
      await sleep(2);
      settingAside -= 1;
      const name = nameOf({ org_id: delivery.key.org_id, origin: delivery.origin });
      const source = { kind: 'parked', sequence: (sequence += 1) } as const;
      const there = parked.get(name) ?? [];
      parked.set(name, [...there, { ...delivery, source }]);
      settle(delivery);
    },
    settle,
    settleIntermediate: ({ runs, activity }) => {
      for (const one of [...runs, ...activity]) {
        tellings.set(one, (tellings.get(one) ?? 0) + 1);
        expect(tellings.get(one)).toBe(1);
      }
    },
  });

  const finals: number[] = [];
  const intermediates: number[] = [];
  for (const one of steps) {
    if (one.do === 'wait') {
      await pass(one.ms);
      continue;
    }
    const about = told[one.run];
    if (!about) continue;
    sequence += 1;
    if (one.do === 'final') {
      if (!one.again || about.round === 0) about.round += 1;
      finals.push(sequence);
      const { key, receiver, round } = about;
      const source = { kind: 'fact', sequence } as const;
      const { origin } = receiver;
      const expires_at = '2026-01-07T00:00:00.000Z';
      desk.tellFinal({ key, origin, round, tries: 0, due_at: null, expires_at, source, careful: false });
    } else {
      intermediates.push(sequence);
      desk.tellIntermediate(about.key, about.receiver.origin, { runs: sequence });
    }
  }
  calm = true;
  // As long as the longest opening, and the probes after it.
  await pass(1_200 * SECOND);
  expect(finals.filter((one) => over.get(one) !== 1)).toEqual([]);
  expect(intermediates.filter((one) => tellings.get(one) !== 1)).toEqual([]);
  expect([...parked.values()].flat()).toEqual([]);
  expect(told.filter(({ round, wasSettled }) => round > 0 && !wasSettled)).toEqual([]);
  expect(dispatcher).toMatchObject({ inFlight: 0, waiting: 0 });
  expect(maximum).toBeLessThanOrEqual(most);
  expect(desk.size).toBe(0);
  await desk.close();
  dispatcher.close();
  breakers.close();
  expect(vi.getTimerCount()).toBe(0);
};

describe('whatever is told, and however the receivers answer', () => {
  it.each([1, 4, 100])(
    'each final is settled or set aside once, one at a time for a run, with %i places',
    async (most) => {
      const steps = fc.array(step, { minLength: 5, maxLength: 150 });
      const endings = fc.array(ending, { maxLength: 100 });
      const always = fc.asyncProperty(steps, endings, (each, how) => play(each, how, most));
      await expect(fc.assert(always, { numRuns: 50 })).resolves.toBeUndefined();
    },
    60_000,
  );
});
