import { JetStreamApiCodes, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import type { EventLog } from '../connect/event-log.ts';

const RESPONSE_WITHIN_MS = 10_000;
/** For `callBroker`: a stream that was just made may have no leader yet. */
export const CHANGE_WITHIN_MS = 60_000;

/**
 * For changes of streams, which write and flush files. What only looks has the shorter time of `log.jsm`: brokers that have just
 * started, and have no leader yet, drop the request, and it has to be sent again.
 */
export const streamManager = (log: EventLog): Promise<JetStreamManager> =>
  jetstreamManager(log.nc, { timeout: RESPONSE_WITHIN_MS, checkAPI: false });

/** Undefined when it does not exist. */
export const findStream = async (
  manager: JetStreamManager,
  name: string,
): Promise<StreamInfo | undefined> => {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)
      return undefined;
    throw error;
  }
};
