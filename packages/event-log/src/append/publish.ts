import { setTimeout as pause } from 'node:timers/promises';
import { JetStreamApiError, type JetStreamPublishOptions, type StoredMsg } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { CALL_WITHIN_MS, callBroker } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { lastMessage, nextMessage, streamStateFrom } from '../read/leader-read.ts';

export interface Publication {
  readonly stream: string;
  readonly subject: string;
  readonly data: Uint8Array;
  /** Unique to this message: the broker drops a second copy by it, and we recognise our own message by it. */
  readonly id: string;
  /** The message is stored only if the last one under `filter` is at `sequence` (0 for no message). */
  readonly fence?: { readonly filter: string; readonly sequence: number };
  readonly ttl?: string;
  /** The broker holds the message until `at`, then stores it under `target`. A newer one on its subject replaces it. */
  readonly schedule?: { readonly at: Date; readonly target: string };
  /** W3C trace context, for the readers of the message. */
  readonly traceparent?: string;
  readonly withinMs?: number;
}

export type Published =
  | { readonly kind: 'stored'; readonly sequence: number }
  /** `head`: the sequence of the last message under the fence's filter, from the leader; 0 for none. */
  | { readonly kind: 'conflict'; readonly head: number };

// Error codes of nats-server: https://github.com/nats-io/nats-server/blob/main/server/errors.json
const CONFLICTS: ReadonlySet<number> = new Set([10071, 10164]);
const HEADERS_BYTES = 1024;
/** A leader that steps down drops what it was sent, so the first try is short. Later ones wait for a slow disk. */
const FIRST_TRY_MS = 500;
const LONGEST_TRY_MS = 2_000;

/**
 * Stores a message exactly once, even when acknowledgements are lost: it is sent again, under the same id, until the broker
 * responds. A single server checks the fence before it drops copies, so the conflict of a second try may be with our own first
 * one; a read from the leader decides.
 * @throws {LogUnavailable} when the broker does not respond in time: the message may or may not be stored
 * @throws {LogFull} @throws {EventTooLarge}
 */
export const publish = async (log: EventLog, message: Publication): Promise<Published> => {
  const { withinMs = CALL_WITHIN_MS } = message;
  const deadline = performance.now() + withinMs;
  for (;;) {
    const left = Math.max(deadline - performance.now(), 1);
    const response = await publishUntilAcknowledged(log, message, left);
    if (response.kind === 'stored' || (response.kind === 'duplicate' && !message.fence)) {
      return { kind: 'stored', sequence: response.sequence };
    }
    const own = await findStored(log, message, left);
    if (own !== undefined) return { kind: 'stored', sequence: own };
    if (response.kind === 'duplicate') {
      throw new Error(
        `The broker dropped a message for ${message.subject} as a copy of message ${response.sequence}, but it is another message: ` +
          `two messages have the id ${message.id}. Compare both with "nats stream get ${message.stream}".`,
      );
    }
    const last = message.fence && (await lastMessage(log, message.stream, message.fence.filter, left));
    // A former leader may have answered the search for it.
    const ownLast = ownSequence(last, message);
    if (ownLast !== undefined) return { kind: 'stored', sequence: ownLast };
    const head = last?.seq ?? 0;
    const expected = message.fence?.sequence ?? 0;
    if (head > expected || (head < expected && (await isGone(log, message, left)))) {
      return { kind: 'conflict', head };
    }
    // A replicated stream also refuses because of a message that is proposed and not yet stored, or that a replica has and the
    // leader has not applied; that is decided soon.
    if (performance.now() >= deadline) {
      throw new LogUnavailable(
        `storing a message under ${message.subject}: refused for ${withinMs} ms although no other message was stored`,
      );
    }
    await pause(20);
  }
};

type Acknowledged =
  | { readonly kind: 'stored' | 'duplicate'; readonly sequence: number }
  /** `head`: the last sequence under the fence's filter in the broker's response; undefined when it names none. */
  | { readonly kind: 'conflict'; readonly head: number | undefined };

/**
 * Sends a message, again under the same id while no response comes, and returns the broker's response as it is: stored, a
 * duplicate, or a conflict, which may be with an earlier try of this same message.
 * @throws {LogUnavailable} @throws {LogFull} @throws {EventTooLarge}
 */
export const publishUntilAcknowledged = (
  log: EventLog,
  message: Publication,
  leftMs: number = CALL_WITHIN_MS,
): Promise<Acknowledged> => {
  rejectTooLarge(log, message);
  const { withinMs = CALL_WITHIN_MS } = message;
  const sendOnce = (tries: number): Promise<Acknowledged> => {
    if (tries > 1) log.observer.resent();
    // After this time an acknowledgement counts as lost, and the message is sent again.
    return send(log, message, Math.min(FIRST_TRY_MS * 2 ** (tries - 1), LONGEST_TRY_MS, withinMs / 2));
  };
  return callBroker(`storing a message under ${message.subject}`, sendOnce, leftMs);
};

const send = async (
  log: EventLog,
  { subject, data, ...message }: Publication,
  timeout: number,
): Promise<Acknowledged> => {
  const options: Partial<JetStreamPublishOptions> = {
    timeout,
    msgID: message.id,
    ...(message.traceparent === undefined ? {} : { headers: traceHeaders(message.traceparent) }),
    ...(message.ttl === undefined ? {} : { ttl: message.ttl }),
    ...(message.schedule === undefined
      ? {}
      : { schedule: { specification: message.schedule.at, target: message.schedule.target } }),
    ...(message.fence === undefined
      ? {}
      : {
          expect: {
            lastSubjectSequence: message.fence.sequence,
            lastSubjectSequenceSubject: message.fence.filter,
          },
        }),
  };
  try {
    const { duplicate, seq, stream } = await log.js.publish(subject, data, options);
    if (stream !== message.stream) {
      throw new Error(
        `${subject} was stored in stream ${stream}, not in ${message.stream}: check its subjects`,
      );
    }
    return { kind: duplicate ? 'duplicate' : 'stored', sequence: seq };
  } catch (error) {
    if (isConflict(error)) return { kind: 'conflict', head: headIn(error) };
    throw explainRefusal(error, message.stream, data);
  }
};

const traceHeaders = (traceparent: string): MsgHdrs => {
  const made = headers();
  made.set('traceparent', traceparent);
  return made;
};

/** The broker refused a fenced message, because another was stored first, or is proposed. */
export const isConflict = (error: unknown): boolean =>
  error instanceof JetStreamApiError && CONFLICTS.has(error.code);

/** "wrong last sequence: 12", of error 10071; a cluster may also refuse without a number. */
const headIn = (error: unknown): number | undefined => {
  const [, head] = /wrong last sequence: (\d{1,15})$/.exec(error instanceof Error ? error.message : '') ?? [];
  return head === undefined ? undefined : Number(head);
};

/** If our message was stored, it is the first on its subject behind the fence, so no later message can hide it. */
const findStored = async (
  log: EventLog,
  message: Publication,
  withinMs: number,
): Promise<number | undefined> => {
  const after = message.fence?.sequence ?? 0;
  const found = await nextMessage(log, message.stream, after + 1, message.subject, withinMs);
  return ownSequence(found, message);
};

/**
 * Whether the message that the fence names has expired, or was removed. Each answer must prove it alone: until a former leader
 * hears from the others again, it may give the next answer.
 */
const isGone = async (log: EventLog, { stream, fence }: Publication, withinMs: number): Promise<boolean> => {
  if (!fence) return false;
  const { sequence } = fence;
  const { state } = await streamStateFrom(log, stream, sequence);
  // All up to it have expired, or the stream has lost its end.
  if (state.first_seq > sequence || state.last_seq < sequence) return true;
  const next = await nextMessage(log, stream, sequence, '>', withinMs);
  return next !== null && next.seq > sequence;
};

const ownSequence = (found: StoredMsg | null | undefined, { id }: Publication): number | undefined =>
  found?.header.get('Nats-Msg-Id') === id ? found.seq : undefined;

/** The largest payload that the broker accepts, without our headers. */
export const maxPayloadBytes = (log: EventLog): number =>
  (log.nc.info?.max_payload ?? 1024 * 1024) - HEADERS_BYTES;

const rejectTooLarge = (log: EventLog, { subject, data }: Publication): void => {
  const max = maxPayloadBytes(log);
  if (data.byteLength <= max) return;
  throw new EventTooLarge(
    `A message for ${subject} has ${data.byteLength} bytes, and the broker accepts at most ${max}. ` +
      'Store large data as a file and name it in the event.',
  );
};

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
