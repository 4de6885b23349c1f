import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { within } from '@runledger/resilience/within';

const POLL_EVERY_MS = 25;
const MAX_OBSERVATION_LENGTH = 4_000;

/** The type of a truthy value. */
export type Truthy<Fact> = Exclude<Fact, false | 0 | 0n | '' | null | undefined>;

/**
 * Calls `fact` until its answer is truthy, and returns that answer. A call that throws is repeated. After `withinMs` (45 s by
 * default, far more than a test needs) it throws an error with the last answer.
 */
export const waitFor = async <Fact>(
  what: string,
  fact: () => Promise<Fact> | Fact,
  {
    withinMs = 45_000,
    everyMs = POLL_EVERY_MS,
  }: { readonly withinMs?: number; readonly everyMs?: number } = {},
): Promise<Truthy<Fact>> => {
  // In words only when it is too late: that takes longer than most questions.
  let seen = (): string => 'nothing, the first answer never came';
  let isLate = false;
  const poll = async (): Promise<Found<Fact> | undefined> => {
    for (;;) {
      try {
        const value = await fact();
        if (isTruthy(value)) return { value };
        seen = () => inspect(value, { depth: 4 });
      } catch (error) {
        seen = () => inspect(error, { depth: 4 });
      }
      await delay(everyMs);
      if (isLate) return undefined;
    }
  };
  const found = await within(withinMs, poll(), () => {
    isLate = true;
  });
  if (found) return found.value;
  throw new Error(
    `Waited ${withinMs} ms in vain for ${what}. Last seen: ${seen().slice(0, MAX_OBSERVATION_LENGTH)}`,
  );
};

interface Found<Fact> {
  readonly value: Truthy<Fact>;
}

const isTruthy = <Fact>(value: Fact): value is Fact & Truthy<Fact> => Boolean(value);
