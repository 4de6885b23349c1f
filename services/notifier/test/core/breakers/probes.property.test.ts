import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/core/conclusion.ts';
import { now, observeBreakers, pass, SECOND, useStoppedTime } from './observed-breakers.ts';

useStoppedTime();

const KEYS = ['a', 'b', 'c'];

interface Request {
  readonly key: string;
  readonly ticket: number;
  /** The opening of its key after which it was begun; undefined when it was sent to a closed one. */
  readonly probeOf: number | undefined;
}

type Step =
  | { readonly do: 'send'; readonly key: string }
  | { readonly do: 'end'; readonly which: number; readonly outcome: Outcome }
  | { readonly do: 'wait'; readonly seconds: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('send' as const), key: fc.constantFrom(...KEYS) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: fc.nat(50),
      outcome: fc.constantFrom<Outcome>('failure', 'failure', 'failure', 'success', 'neutral'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.nat(90) }) },
);

/** Sends what a breaker lets through, with results in any order, and counts the probes of each opening. */
const expectOneProbe = (steps: readonly Step[]): void => {
  const { breakers, changes } = observeBreakers();
  const inFlight: Request[] = [];
  const openings = new Map(KEYS.map((key) => [key, 0]));
  /** Per key: results, other than neutral ones, of probes since the last opening. */
  const resultsOf = new Map(KEYS.map((key) => [key, 0]));
  const countOpenings = (): void => {
    for (const [key, state] of changes.splice(0)) {
      if (state.kind !== 'open') continue;
      openings.set(key, (openings.get(key) ?? 0) + 1);
      resultsOf.set(key, 0);
    }
  };

  const probesOf = (key: string): number =>
    inFlight.filter((request) => request.key === key && request.probeOf === openings.get(key)).length;

  const mayBegin = (key: string): boolean => {
    const state = breakers.state(key);
    switch (state.kind) {
      case 'closed':
        return true;
      case 'open':
        return false;
      case 'probing':
        // The guarantee of a breaker: at most one until its result has arrived.
        if (resultsOf.get(key) === 0) expect(state.limit).toBe(1);
        return probesOf(key) < state.limit;
    }
  };

  for (const each of steps) {
    switch (each.do) {
      case 'send': {
        const { key } = each;
        if (!mayBegin(key)) break;
        const isProbe = breakers.state(key).kind === 'probing';
        if (isProbe && resultsOf.get(key) === 0) expect(probesOf(key)).toBe(0);
        inFlight.push({
          key,
          ticket: breakers.ticket,
          probeOf: isProbe ? openings.get(key) : undefined,
        });
        break;
      }
      case 'end': {
        const [request] = inFlight.splice(each.which % Math.max(1, inFlight.length), 1);
        if (request === undefined) break;
        const { key, ticket, probeOf } = request;
        const [before, nth] = [breakers.state(key), openings.get(key)];
        if (probeOf === nth && each.outcome !== 'neutral') resultsOf.set(key, (resultsOf.get(key) ?? 0) + 1);
        breakers.report(key, ticket, each.outcome, now());
        countOpenings();
        // A result of an earlier opening changes nothing.
        if (before.kind !== 'closed' && probeOf !== nth) expect(breakers.state(key)).toBe(before);
        // A failed probe ends the opening's probes at once.
        if (before.kind === 'probing' && probeOf === nth && each.outcome === 'failure')
          expect(breakers.state(key).kind).toBe('open');
        break;
      }
      case 'wait':
        pass(each.seconds * SECOND);
    }
    expect(breakers.size).toBeLessThanOrEqual(KEYS.length);
  }
};

describe('a random history of requests and results in any order', () => {
  it('has at most one probe for each opening', () => {
    const sequences = fc.array(step, { minLength: 20, maxLength: 200 });
    expect(() => fc.assert(fc.property(sequences, expectOneProbe), { numRuns: casesOf(60) })).not.toThrow();
  });
});
