import { JetStreamApiCodes, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager, StreamConfig, StreamInfo } from '@nats-io/jetstream';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';

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

const NO_ROOM: ReadonlySet<number> = new Set([10023, 10028, 10047]);
/** Too few servers are online, or there is no cluster. */
const NO_PEERS: ReadonlySet<number> = new Set([10005, 10074]);

/** The stream that is created or changed. */
interface ChangedStream {
  readonly name: string;
  readonly limits: Partial<StreamConfig>;
}

/** Creates or changes a stream, and says what to do when the brokers have no room for it, or are too few. @throws {LogUnavailable} */
export const explained = async <Answer>(
  { name, limits }: ChangedStream,
  away: readonly string[],
  change: () => Promise<Answer>,
): Promise<Answer> => {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
    if (NO_ROOM.has(error.code))
      throw new LogUnavailable(
        `The broker has no room for stream ${name} of ${limits.max_bytes ?? 'unlimited'} bytes (${error.message}). ` +
          'Free disk space, raise max_file_store of nats-server, or lower the limits in the log settings.',
        { cause: error },
      );
    if (NO_PEERS.has(error.code))
      throw new LogUnavailable(
        `There are not enough brokers for ${limits.num_replicas} copies of stream ${name} (${error.message}). ` +
          `${away.length > 0 ? `Away: ${away.join(', ')}. Start them` : 'Start all brokers of the cluster, in touch with each other'}, and try again.`,
        { cause: error },
      );
    throw error;
  }
};
