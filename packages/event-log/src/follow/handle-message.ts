import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { newerVersionOf } from '../read/newer-version.ts';
import type { DeliveredMessage } from '../read/stored-message.ts';
import { storeDeadLetter } from '../streams/dead-letters.ts';

/** The outcome of handling a message. A `retry` waits in this process, so that no later message overtakes it. */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly inMs: number }
  | { readonly kind: 'dead_letter'; readonly because: string };

export const done: Outcome = { kind: 'done' };
export const retryIn = (inMs: number): Outcome => ({ kind: 'retry', inMs });
export const deadLetterBecause = (because: string): Outcome => ({ kind: 'dead_letter', because });

interface Received {
  readonly stored: StoredMessage;
  readonly subject: string;
  readonly sequence: number;
  /** When the broker stored it. */
  readonly time: string;
  /** Parsed JSON. */
  readonly body: unknown;
}

export type Handle = (message: Received) => Promise<Outcome>;

const MAX_THROWS = 5;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

interface Handling {
  readonly log: EventLog;
  readonly name: string;
  readonly stream: string;
  readonly handle: Handle;
  readonly stop: AbortSignal;
}

/**
 * Handles one delivered message or stores it as a dead letter. False when it was stopped before an outcome.
 * @throws {NewerVersion}
 */
export const handleMessage = async (message: DeliveredMessage, handling: Handling): Promise<boolean> => {
  const newer = newerVersionOf(handling.stream, message);
  if (newer) throw newer;
  return finish(message, handling);
};

const finish = async (message: DeliveredMessage, handling: Handling): Promise<boolean> => {
  const { stop } = handling;
  const delays = backoff({ firstMs: FIRST_PAUSE_MS, longestMs: LONGEST_PAUSE_MS });
  for (let throws = 0; !stop.aborted;) {
    let outcome: Outcome;
    try {
      outcome = await decide(message, handling.handle);
    } catch (error) {
      // The message is not the cause when the broker is unavailable.
      if (!(error instanceof LogUnavailable)) throws += 1;
      const { log, name, stream } = handling;
      log.logger.error({ err: error, consumer: name, stream, sequence: message.sequence }, 'a handler threw');
      outcome =
        throws < MAX_THROWS
          ? { kind: 'retry', inMs: delays.next() }
          : {
              kind: 'dead_letter',
              because: `the handler threw ${MAX_THROWS} times; the last error: ${String(error)}`,
            };
    }
    switch (outcome.kind) {
      case 'done':
        return true;
      case 'dead_letter':
        return storeDeadLetterUntilDone(message, outcome.because, handling);
      case 'retry':
        await sleep(outcome.inMs, stop);
    }
  }
  return false;
};

const decide = async (stored: StoredMessage, handle: Handle): Promise<Outcome> => {
  if (stored.body === undefined) return { kind: 'dead_letter', because: 'the payload is not JSON in UTF-8' };
  const { subject, sequence, time, body } = stored;
  return handle({ stored, subject, sequence, time, body });
};

const storeDeadLetterUntilDone = async (
  message: DeliveredMessage,
  reason: string,
  { log, name, stream, stop }: Handling,
): Promise<boolean> => {
  const raw = { data: message.data, headers: message.headers ?? [] };
  while (!stop.aborted) {
    try {
      await storeDeadLetter(log, { consumer: name, stored: message, reason, stream, raw });
      return true;
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      log.logger.warn(
        { err: error, consumer: name, sequence: message.sequence },
        'a dead letter could not be stored yet; trying again',
      );
      await sleep(LONGEST_PAUSE_MS, stop);
    }
  }
  return false;
};
