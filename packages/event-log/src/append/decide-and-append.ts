import type { EventLog } from '../connect/event-log.ts';
import { append, type ChainEvent } from './append.ts';

/** The result of a pure decision on a history. */
export type Decision<Answer> =
  | {
      readonly kind: 'append';
      readonly event: ChainEvent;
      /** The head of the history that the decision rests on: the append is fenced on it. */
      readonly expected: number;
      readonly answer: Answer;
    }
  /** There is nothing to write. */
  | { readonly kind: 'answer'; readonly answer: Answer };

interface DecideAndAppend<Known, Answer> {
  /**
   * Reads what to decide on. `atLeast` is undefined for the first attempt. After a conflict it is the sequence of the message
   * that was stored first, and the history has to reach it.
   */
  readonly read: (atLeast: number | undefined) => Promise<Known>;
  /** Has no effects: it is called again with a newer history after a conflict. */
  readonly decide: (known: Known) => Decision<Answer>;
  /** 10 when left out. */
  readonly maxAttempts?: number;
  /** Called for each append that ended with a conflict. */
  readonly onConflict?: () => void;
  /** Wraps each read and each append, for example in `retryWhileUnavailable`. */
  readonly around?: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

type DecidedAndAppended<Answer> =
  | { readonly kind: 'appended'; readonly sequence: number; readonly answer: Answer }
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** Every one of `maxAttempts` appends ended with a conflict. Nothing was appended. */
  | { readonly kind: 'too_busy'; readonly head: number };

const MAX_ATTEMPTS = 10;

/**
 * Reads a history, decides on it, and appends the event at the head that the decision rests on. After a conflict it reads and
 * decides again, so a fact is never written on a history that its writer has not seen.
 * @throws what `read` and `decide` throw, and as `append`
 */
export const decideAndAppend = async <Known, Answer>(
  log: EventLog,
  options: DecideAndAppend<Known, Answer>,
): Promise<DecidedAndAppended<Answer>> => {
  const { read, decide, maxAttempts = MAX_ATTEMPTS, onConflict, around = once } = options;
  let head: number | undefined;
  for (let attempts = 0; attempts < maxAttempts; attempts += 1) {
    const known = await around(() => read(head));
    const decision = decide(known);
    const { answer } = decision;
    if (decision.kind === 'answer') return { kind: 'answered', answer };
    const appended = await around(() => append(log, decision.event, decision.expected));
    if (appended.kind === 'appended') return { kind: 'appended', sequence: appended.sequence, answer };
    onConflict?.();
    head = appended.head;
  }
  return { kind: 'too_busy', head: head ?? 0 };
};

const once = <Result>(work: () => Promise<Result>): Promise<Result> => work();
