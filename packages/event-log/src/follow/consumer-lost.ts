import type { ConsumerInfo } from '@nats-io/jetstream';
import { within } from '@runledger/resilience/within';
import type { EventLog } from '../connect/event-log.ts';

const ANSWER_WITHIN_MS = 1_000;

/**
 * Calls the listener as soon as a consumer delivers nothing more to what was sent until now: after a reconnect, and when its server
 * has left the cluster. Returns a function that removes the listener. Without it, missed heartbeats would tell some seconds later.
 */
export const onConsumerLost = (log: EventLog, consumer: ConsumerInfo, lost: () => void): (() => void) => {
  const check = async (): Promise<void> => {
    const asked = log.jsm.consumers.info(consumer.stream_name, consumer.name).catch(() => undefined);
    const found = await within(ANSWER_WITHIN_MS, asked, () => undefined);
    if (found?.cluster?.leader !== consumer.cluster?.leader) lost();
  };
  const offReconnect = log.onReconnect(lost);
  const offLeft = log.onServerLeft(() => void check());
  return () => {
    offReconnect();
    offLeft();
  };
};
