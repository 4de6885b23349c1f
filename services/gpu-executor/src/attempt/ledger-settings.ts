import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { StoredMessage } from '@runledger/contracts/fold/chain';

/** The result of an append. With `unavailable` the event may be stored or not. */
export type Appended =
  | { readonly kind: 'appended'; readonly sequence: number }
  /** `head`: the last message of the run; undefined when the log did not report it. */
  | { readonly kind: 'conflict'; readonly head: number | undefined }
  | { readonly kind: 'unavailable'; readonly why: string };

export interface LedgerSettings {
  readonly append: (event: RunEvent, expected: number) => Promise<Appended>;
  /** The last stored message on each of these subjects; undefined while the log is unavailable. */
  readonly look: (subjects: readonly string[]) => Promise<readonly StoredMessage[] | undefined>;
  readonly newId: () => string;
  readonly now: () => Date;
  /** The executor stops: nothing more is stored. */
  readonly closing: AbortSignal;
  /** The consumer has ended: nothing more is delivered. */
  readonly disconnected: AbortSignal;
  /** The log no longer holds the facts that the attempt rests on. */
  readonly onExpired: () => void;
  readonly log: {
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}
