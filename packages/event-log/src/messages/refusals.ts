import { JetStreamApiError } from '@nats-io/jetstream';
import { LogUnavailable } from '../connect/event-log.ts';

/** The stream is full: it accepts messages again when its limit is raised or old messages expire. */
export class LogFull extends LogUnavailable {
  override readonly name = 'LogFull';
  override readonly code = 'log_full';
}

/** The message is larger than the broker or the stream accepts. A retry does not help. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
  readonly code = 'event_too_large';
}

// Error codes of nats-server: https://github.com/nats-io/nats-server/blob/main/server/errors.json
const NO_ROOM: ReadonlySet<number> = new Set([10002, 10023, 10047]);
const TOO_LARGE: ReadonlySet<number> = new Set([10054, 10097]);

/** The stream, or the storage of the broker, has no room. */
export const isFull = (error: unknown): boolean =>
  error instanceof JetStreamApiError &&
  // The limit of a stream has no error code of its own: it is one of the causes of a failed store (10077).
  (NO_ROOM.has(error.code) || error.message.includes('maximum bytes exceeded'));

/** The broker's refusal as LogFull or EventTooLarge; any other error unchanged. */
export const explainRefusal = (error: unknown, stream: string, data: Uint8Array): unknown => {
  if (!(error instanceof JetStreamApiError)) return error;
  const refused = `stream ${stream} refused a message of ${data.byteLength} bytes: ${error.message}`;
  if (isFull(error)) {
    return new LogFull(`${refused}. Raise its limit, or wait until old messages expire.`, { cause: error });
  }
  return TOO_LARGE.has(error.code) ? new EventTooLarge(refused, { cause: error }) : error;
};
