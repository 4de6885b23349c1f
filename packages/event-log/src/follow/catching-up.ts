import { setTimeout as pause } from 'node:timers/promises';
import type { ConsumerInfo } from '@nats-io/jetstream';
import type { EventLog } from '../connect/event-log.ts';
import type { DeliveredMessage } from '../messages/delivered-message.ts';
import type { EphemeralConsumer } from './ephemeral-consumer.ts';

/** Finds out when everything is taken that was stored at the start. */
export interface CatchingUp {
  /** Begins with a consumer. Returns a function that ends it. */
  begin(consumer: EphemeralConsumer): () => void;
  /** `last`: of the messages that were delivered and taken. */
  onTaken(last: DeliveredMessage | undefined): void;
}

const SILENT_MS = 250;

/**
 * Calls the listener once. The last message usually says that it is the last; but messages that are removed before they are delivered
 * leave none that does. So a consumer that is silent for a moment is asked.
 */
export const catchingUp = (log: EventLog, listener: (() => void) | undefined): CatchingUp => {
  const done = new AbortController();
  if (listener === undefined) done.abort();
  let taken = 0;
  const reached = (): void => {
    if (done.signal.aborted) return;
    done.abort();
    listener?.();
  };
  const isDrained = async ({ stream_name, name }: ConsumerInfo): Promise<boolean> => {
    // A consumer that is lost is replaced by another one.
    const info = await log.jsm.consumers.info(stream_name, name).catch(() => undefined);
    return info?.num_pending === 0 && info.delivered.consumer_seq === taken;
  };
  const askWhileSilent = async (info: ConsumerInfo, signal: AbortSignal): Promise<void> => {
    for (let before = -1; !signal.aborted; before = taken) {
      if (before === taken && (await isDrained(info)) && !signal.aborted) reached();
      await pause(SILENT_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  };
  return {
    begin: ({ info, pending }) => {
      taken = 0;
      if (pending === 0) reached();
      const end = new AbortController();
      void askWhileSilent(info, AbortSignal.any([done.signal, end.signal]));
      return () => end.abort();
    },
    onTaken: (last) => {
      taken = last?.deliverySequence ?? taken;
      if (last?.pending === 0) reached();
    },
  };
};
