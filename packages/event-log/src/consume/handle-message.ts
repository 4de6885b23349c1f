import type { JsMsg } from '@nats-io/jetstream';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import type { Handle, Outcome } from './outcome.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { newerVersionOf, type NewerVersion } from '../follow/newer-version.ts';
import { storeDeadLetter } from '../streams/dead-letters.ts';
import { fromDelivered } from '../messages/stored-message.ts';

/** A process that died with a message in hand holds the next ones up for so long. */
export const ACK_WITHIN_MS = 10_000;
const STILL_WORKING_EVERY_MS = 3_000;
const MOST_THROWS = 5;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** By sequence. The broker delivers a message again when it restarts; the newer copy is the one to acknowledge. */
export type InFlight = Map<number, { message: JsMsg; finished: Promise<void> }>;

export interface Handling {
  readonly log: EventLog;
  readonly name: string;
  readonly stream: string;
  readonly handle: Handle;
  readonly inFlight: InFlight;
  readonly onNewer: (newer: NewerVersion) => void;
  readonly stop: AbortSignal;
}

/** Brings one delivered message to its end: handled or stored as a dead letter, then acknowledged. A stop leaves it for the next time. */
export const handleMessage = async (message: JsMsg, delivering: Handling): Promise<void> => {
  const { inFlight: inHand, stop, onNewer, stream } = delivering;
  const again = inHand.get(message.seq);
  if (again) {
    again.message = message;
    return;
  }
  if (stop.aborted) {
    message.nak();
    return;
  }
  const stored = fromDelivered(message);
  const newer = newerVersionOf(stream, stored);
  if (newer) {
    onNewer(newer);
    return;
  }
  const finished = Promise.withResolvers<void>();
  const held = { message, finished: finished.promise };
  inHand.set(message.seq, held);
  const working = setInterval(() => held.message.working(), STILL_WORKING_EVERY_MS);
  try {
    if (await finish(message, stored, delivering)) await acknowledge(held, stop);
    // So the next process need not wait until the broker gives this one up.
    else held.message.nak();
  } finally {
    clearInterval(working);
    inHand.delete(message.seq);
    finished.resolve();
  }
};

/** False when it was stopped before the end. */
const finish = async (message: JsMsg, stored: StoredMessage, delivering: Handling): Promise<boolean> => {
  const { stop } = delivering;
  const delays = backoff({ firstMs: FIRST_PAUSE_MS, longestMs: LONGEST_PAUSE_MS });
  for (let throws = 0; !stop.aborted;) {
    let outcome: Outcome;
    try {
      outcome = await decide(message, stored, delivering.handle);
    } catch (error) {
      // A broker that is away is nothing that the message could help.
      if (!(error instanceof LogUnavailable)) throws += 1;
      const { log, name, stream } = delivering;
      log.logger.error({ err: error, consumer: name, stream, sequence: stored.sequence }, 'a handler threw');
      outcome =
        throws < MOST_THROWS
          ? { kind: 'retry', inMs: delays.next() }
          : {
              kind: 'dead_letter',
              because: `the handler threw ${MOST_THROWS} times, at last: ${String(error)}`,
            };
    }
    switch (outcome.kind) {
      case 'done':
        return true;
      case 'dead_letter':
        return storeDeadLetterUntilDone(message, stored, outcome.because, delivering);
      case 'retry':
        await sleep(outcome.inMs, stop);
    }
  }
  return false;
};

const decide = async (message: JsMsg, stored: StoredMessage, handle: Handle): Promise<Outcome> => {
  if (stored.body === undefined) return { kind: 'dead_letter', because: 'the payload is no JSON in UTF-8' };
  const { subject, sequence, time, body } = stored;
  return handle({ stored, subject, sequence, time, body, redelivered: message.redelivered });
};

const storeDeadLetterUntilDone = async (
  message: JsMsg,
  stored: StoredMessage,
  reason: string,
  { log, name, stream, stop }: Handling,
): Promise<boolean> => {
  const raw = { data: message.data, headers: message.headers ?? [] };
  while (!stop.aborted) {
    try {
      await storeDeadLetter(log, { consumer: name, stored, reason, stream, raw });
      return true;
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      log.logger.warn({ err: error, consumer: name, sequence: stored.sequence }, 'parking is tried again');
      await sleep(LONGEST_PAUSE_MS, stop);
    }
  }
  return false;
};

/** Until the broker says that it knows: a lost acknowledgement would hold the next message up. */
const acknowledge = async (held: { readonly message: JsMsg }, stop: AbortSignal): Promise<void> => {
  for (let tries = 0; tries === 0 || !stop.aborted; tries += 1) {
    try {
      await held.message.ackAck({ timeout: 2_000 });
      return;
    } catch {
      await sleep(FIRST_PAUSE_MS, stop);
    }
  }
};
