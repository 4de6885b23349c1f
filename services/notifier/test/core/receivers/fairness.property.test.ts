import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Receiver } from '../../../src/core/receiver.ts';
import { hasWaiting } from '../../../src/core/receiver-queues.ts';
import {
  answers,
  inFlight,
  observeReceivers,
  receiver,
  SECOND,
  type ObservedReceivers,
  type Sending,
} from './observed-receivers.ts';

/** Attempts of another that may begin while one waits: its turn, and one that was already next. */
const MOST_AHEAD = 2;
/** More than there are permits, so that only the dispatcher decides who waits. */
const WARM_UP = 20;

/** Receivers that answered, each of which may take all permits. */
const provenReceivers = (observed: ObservedReceivers, receiversOf: readonly number[]): Receiver[] => {
  const receivers = receiversOf.flatMap((count, org) =>
    Array.from({ length: count }, (_, at) => receiver(`h${org}-${at}`, `org${org}`)),
  );
  for (const one of receivers) observed.submitMany(WARM_UP, one, { behaviour: answers('accepted', 1) });
  observed.pass(SECOND);
  observed.begun.splice(0);
  return receivers;
};

/** Counts, for each that has something waiting, how often each other was served since it was served last. */
const fairnessOf = (nameOf: (sending: Sending) => string) => {
  const ahead = new Map<string, Map<string, number>>();
  return {
    waits: (names: ReadonlySet<string>): void => {
      for (const name of ahead.keys()) if (!names.has(name)) ahead.delete(name);
      for (const name of names) if (!ahead.has(name)) ahead.set(name, new Map());
    },
    begun: (sending: Sending): void => {
      const served = nameOf(sending);
      for (const [name, others] of ahead)
        if (name !== served) others.set(served, (others.get(served) ?? 0) + 1);
      ahead.set(served, new Map());
    },
    most: (): number => Math.max(0, ...ahead.values().flatMap((others) => others.values())),
  };
};

type Step = { readonly submit: number; readonly count: number } | { readonly end: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ submit: fc.nat(15), count: fc.integer({ min: 1, max: 10 }) }) },
  { weight: 4, arbitrary: fc.record({ end: fc.nat(15) }) },
);

const play = (maxInFlight: number, receiversOf: readonly number[], steps: readonly Step[]): void => {
  const observed = observeReceivers({ maxInFlight });
  const receivers = provenReceivers(observed, receiversOf);
  const organisations = fairnessOf(({ receiver: { org_id } }) => org_id);
  const within = receiversOf.map(() => fairnessOf(({ receiver: { origin } }) => origin));
  const orgs = [...new Set(receivers.map(({ org_id }) => org_id))];
  const note = (): void => {
    for (const sending of observed.begun.splice(0)) {
      organisations.begun(sending);
      within[orgs.indexOf(sending.receiver.org_id)]?.begun(sending);
    }
    const waiting = [...observed.state.withWaiting].filter(hasWaiting).map((queue) => queue.receiver);
    organisations.waits(new Set(waiting.map(({ org_id }) => org_id)));
    for (const [at, fairness] of within.entries())
      fairness.waits(
        new Set(waiting.filter(({ org_id }) => org_id === orgs[at]).map(({ origin }) => origin)),
      );
    for (const fairness of [organisations, ...within])
      expect(fairness.most()).toBeLessThanOrEqual(MOST_AHEAD);
  };
  const submitted: Sending[] = [];
  const submit = (which: number, count: number): void => {
    const to = receivers[which % receivers.length] ?? receiver('none');
    for (let n = 0; n < count; n += 1) {
      submitted.push(observed.submit(to));
      note();
    }
  };
  for (const at of receivers.keys()) submit(at, 10);
  for (const one of steps) {
    if ('submit' in one) submit(one.submit, one.count);
    else {
      const going = inFlight(submitted);
      going[one.end % Math.max(going.length, 1)]?.end('accepted');
      note();
    }
  }
};

describe('the dispatcher', () => {
  it('lets no organisation or receiver wait while another one gets three attempts', () => {
    const receiversOf = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 4 });
    const always = fc.property(
      fc.integer({ min: 1, max: 12 }),
      receiversOf,
      fc.array(step, { minLength: 20, maxLength: 120 }),
      play,
    );
    expect(() => fc.assert(always, { numRuns: casesOf(20) })).not.toThrow();
  });
});
