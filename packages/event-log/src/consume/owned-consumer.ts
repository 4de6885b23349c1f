import { JetStreamApiError } from '@nats-io/jetstream';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { metadataOf, type OwnedConsumer } from './consumer-owner.ts';
import { settingsOf } from './open-consumer.ts';

// Error codes of nats-server: https://github.com/nats-io/nats-server/blob/main/server/errors.json
const EXISTS: ReadonlySet<number> = new Set([10013, 10105, 10148]);

/**
 * Creates the consumer of one process, for what is stored from now on. Does nothing when there is one of that name, whoever owns it.
 * Who creates a consumer may have its messages pushed to any subject, with the rights of the account of the log. So a service creates
 * those of the processes that have no such rights, and they only pull. @throws {LogUnavailable}
 */
export const createOwnedConsumer = async (log: EventLog, wanted: OwnedConsumer): Promise<void> => {
  const { stream, name, subject, owner } = wanted;
  const settings = {
    ...settingsOf({ name, deliver: 'new' }),
    filter_subject: subject,
    metadata: metadataOf(owner),
  };
  try {
    await callBroker(`creating the consumer ${name} of ${stream}`, () =>
      log.jsm.consumers.add(stream, settings),
    );
  } catch (error) {
    if (!(error instanceof JetStreamApiError && EXISTS.has(error.code))) throw error;
  }
};
