import type { StoredMessage } from '@runledger/contracts/fold/chain';

/** The outcome of handling a message. A `retry` waits in this process, so that no later message overtakes it. */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly inMs: number }
  | { readonly kind: 'dead_letter'; readonly because: string };

export const done: Outcome = { kind: 'done' };
export const retryIn = (inMs: number): Outcome => ({ kind: 'retry', inMs });
export const deadLetterBecause = (because: string): Outcome => ({ kind: 'dead_letter', because });

export interface Received {
  readonly stored: StoredMessage;
  readonly subject: string;
  readonly sequence: number;
  /** When the broker stored it. */
  readonly time: string;
  /** Parsed JSON. */
  readonly body: unknown;
}

export type Handle = (message: Received) => Promise<Outcome>;
