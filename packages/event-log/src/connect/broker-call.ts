import { JetStreamApiError } from '@nats-io/jetstream';
import {
  ClosedConnectionError,
  DrainingConnectionError,
  NoRespondersError,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node';
import { retry } from '@runledger/resilience/retry';
import { explainPermissionError } from './connect-broker.ts';
import { ConnectionLost } from './connected-requests.ts';
import { LogUnavailable } from './event-log.ts';
import type { Logger } from './observability.ts';

/**
 * A copy of this same message is being stored, and nothing is decided yet. It says nothing about a fence.
 * https://github.com/nats-io/nats-server/blob/main/server/errors.json
 */
const COPY_IN_PROCESS = 10158;

const DELAYS = { firstMs: 50, longestMs: 500 };

/**
 * How long a request is retried while the broker is unavailable, unless the caller sets another time. Longer than an election: the
 * first candidate stands within 9 s (`maxElectionTimeoutDefault` in nats-server's raft.go), and votes take a moment.
 */
export const CALL_WITHIN_MS = 12_000;

/** The broker did not refuse: it is unavailable, starting, electing a leader, slow, or has not decided. A retry may help. */
export const isTransient = (error: unknown): boolean => {
  if (error instanceof TimeoutError || error instanceof NoRespondersError) return true;
  if (error instanceof ConnectionLost) return true;
  if (error instanceof RequestError) return error.isNoResponders();
  if (error instanceof JetStreamApiError) return error.status === 503 || error.code === COPY_IN_PROCESS;
  if (!(error instanceof Error)) return false;
  // The driver does not export these classes: it reports missing responders as "jetstream is not enabled", and for a direct
  // read by the status.
  return error.name === 'JetStreamNotEnabled' || ('code' in error && error.code === 503);
};

const isClosed = (error: unknown): boolean =>
  error instanceof ClosedConnectionError ||
  error instanceof DrainingConnectionError ||
  // A request that was in flight: the driver gives it neither class nor code, only this message.
  (error instanceof RequestError && error.message === 'connection closed');

/**
 * Sends a request to the broker, and repeats it until the broker responds. The request must be safe to repeat.
 * @throws {LogUnavailable} after `withinMs`, or at once when this side has closed the connection
 * @throws {NotAllowed} at once, because a retry does not help
 */
export const callBroker = async <Answer>(
  what: string,
  call: (tries: number) => Promise<Answer>,
  withinMs: number = CALL_WITHIN_MS,
): Promise<Answer> => {
  let tries = 0;
  try {
    return await retry({ isUnavailable: isTransient, withinMs, ...DELAYS }, (count) => {
      tries = count;
      return call(count);
    });
  } catch (error) {
    if (isClosed(error)) {
      throw new LogUnavailable(`${what}: the connection to the broker is closed`, { cause: error });
    }
    if (!isTransient(error)) throw explainPermissionError(error) ?? error;
    const times = tries === 1 ? 'once' : `${tries} times`;
    throw new LogUnavailable(
      `${what}: the broker did not respond (asked ${times} within ${withinMs} ms). ` +
        'Check that nats-server runs and that its disk is not full (see its /healthz), and try again.',
      { cause: error },
    );
  }
};

/**
 * Retries work while the log is unavailable. The work must be safe to do twice. When the signal aborts, the last try may or
 * may not have had its effect. @throws the signal's reason, and every other error
 */
export const retryWhileUnavailable = <Answer>(
  { signal, logger }: { readonly signal: AbortSignal; readonly logger: Logger },
  work: () => Promise<Answer>,
): Promise<Answer> =>
  retry(
    {
      isUnavailable: (error) => error instanceof LogUnavailable,
      firstMs: 250,
      longestMs: 5_000,
      signal,
      onRetry: (error) => logger.warn({ err: error }, 'the log is unavailable; trying again'),
    },
    work,
  );
