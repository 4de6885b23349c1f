import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { StoredMessage } from '@runledger/contracts/fold/chain';

/** The result of an append; with `unavailable` the event may be stored or not. */
export type Appended =
  | { readonly kind: 'appended'; readonly sequence: number }
  /** `head`: the last message of the run; undefined when the log did not report it. */
  | { readonly kind: 'conflict'; readonly head: number | undefined }
  | { readonly kind: 'unavailable'; readonly why: string };

export interface LedgerSettings {
  readonly append: (event: RunEvent, expected: number) => Promise<Appended>;
  /** The last message on each of these subjects that the log has at hand; undefined while it is unavailable. */
  readonly look: (subjects: readonly string[]) => Promise<readonly StoredMessage[] | undefined>;
  readonly newId: () => string;
  readonly now: () => Date;
  /** The executor stops: nothing more is stored. */
  readonly closing: AbortSignal;
  /** The consumer has ended: facts that have not come back by now never will. */
  readonly disconnected: AbortSignal;
  readonly log: { warn(fields: object, message: string): void };
}
