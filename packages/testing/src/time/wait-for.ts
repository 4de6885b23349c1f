import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

const POLL_EVERY_MS = 25;
const LONGEST_OBSERVATION = 4_000;

/** What is left of a type when `if (value)` holds. */
export type Truthy<Fact> = Exclude<Fact, false | 0 | 0n | '' | null | undefined>;

/**
 * Calls `fact` until its answer is truthy, and returns that answer. A call that throws is repeated. After `withinMs` (20 s by
 * default) it throws an error with what it waited for and the last answer.
 */
export const waitFor = async <Fact>(
  what: string,
  fact: () => Promise<Fact> | Fact,
  { withinMs = 20_000 }: { readonly withinMs?: number } = {},
): Promise<Truthy<Fact>> => {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), withinMs);
  let seen = 'nothing, the first answer never came';
  try {
    for (;;) {
      // Being late comes first: an answer that is there at once would win for ever.
      const answer = await Promise.race([late.promise, poll(fact)]);
      if (answer === undefined) break;
      if (answer.kind === 'answered' && isTruthy(answer.value)) return answer.value;
      seen = inspect(answer.kind === 'answered' ? answer.value : answer.error, { depth: 4 });
      await Promise.race([late.promise, delay(POLL_EVERY_MS)]);
    }
  } finally {
    clearTimeout(timer);
  }
  throw new Error(
    `Waited ${withinMs} ms in vain for ${what}. Last seen: ${seen.slice(0, LONGEST_OBSERVATION)}`,
  );
};

type Answer<Fact> =
  | { readonly kind: 'answered'; readonly value: Fact }
  | { readonly kind: 'threw'; readonly error: unknown };

const poll = async <Fact>(fact: () => Promise<Fact> | Fact): Promise<Answer<Fact>> => {
  try {
    return { kind: 'answered', value: await fact() };
  } catch (error) {
    return { kind: 'threw', error };
  }
};

const isTruthy = <Fact>(value: Fact): value is Fact & Truthy<Fact> => Boolean(value);
