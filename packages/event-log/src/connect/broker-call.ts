import { JetStreamApiError } from '@nats-io/jetstream';
import {
  ClosedConnectionError,
  DrainingConnectionError,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node';
import { retry } from '@runledger/resilience/retry';
import { LogUnavailable } from './event-log.ts';
import { explainPermissionError } from './not-allowed.ts';

const DELAYS = { firstMs: 50, longestMs: 500 };

/** How long a request is made again while the broker is away, unless a caller says otherwise. */
export const CALL_WITHIN_MS = 8_000;

/** The broker did not say no: it is away, starting, electing a leader, or slow. Trying again may help. */
export const isTransient = (error: unknown): boolean => {
  if (error instanceof TimeoutError) return true;
  if (error instanceof RequestError) return error.isNoResponders();
  if (error instanceof JetStreamApiError) return error.status === 503;
  if (!(error instanceof Error)) return false;
  // The driver does not export these classes: "jetstream is not enabled" is how no responders look to it, and a direct
  // read says so by the status.
  return error.name === 'JetStreamNotEnabled' || ('code' in error && error.code === 503);
};

const isClosed = (error: unknown): boolean =>
  error instanceof ClosedConnectionError || error instanceof DrainingConnectionError;

/**
 * Makes a request of the broker that may be made twice, again and again until it answers.
 * @throws {LogUnavailable} after `withinMs`, or at once when the connection was closed on this side
 * @throws {NotAllowed} at once: trying again does not help
 */
export const callBroker = async <Answer>(
  what: string,
  call: () => Promise<Answer>,
  withinMs: number = CALL_WITHIN_MS,
): Promise<Answer> => {
  let tries = 0;
  try {
    return await retry({ isUnavailable: isTransient, withinMs, ...DELAYS }, (count) => {
      tries = count;
      return call();
    });
  } catch (error) {
    if (isClosed(error)) {
      throw new LogUnavailable(`${what}: the connection to the broker is closed`, { cause: error });
    }
    if (!isTransient(error)) throw explainPermissionError(error) ?? error;
    const times = tries === 1 ? 'once' : `${tries} times`;
    throw new LogUnavailable(
      `${what}: the broker was asked ${times} within ${withinMs} ms and did not answer. ` +
        'Check that nats-server runs and that its disk is not full (its /healthz tells), and try again.',
      { cause: error },
    );
  }
};
