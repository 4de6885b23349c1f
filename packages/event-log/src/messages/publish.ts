import { setTimeout as pause } from 'node:timers/promises';
import { JetStreamApiError } from '@nats-io/jetstream';
import type { JetStreamPublishOptions } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { CALL_WITHIN_MS, callBroker } from '../connect/broker-call.ts';
import { lastSequence, nextMessage } from './leader-read.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';

export interface Publication {
  readonly stream: string;
  readonly subject: string;
  readonly data: Uint8Array;
  /** Unique to this message: by it the broker drops a second copy, and we know our own again. */
  readonly id: string;
  /** The message is stored only if the last one under `filter` is the one at `sequence` (0: there is none). */
  readonly fence?: { readonly filter: string; readonly sequence: number };
  readonly ttl?: string;
  /** The broker keeps the message until then, and stores it under `target` instead. A newer one on its subject replaces it. */
  readonly schedule?: { readonly at: Date; readonly target: string };
  /** W3C trace context, for whoever reads the message. */
  readonly traceparent?: string;
  readonly withinMs?: number;
}

export type Published =
  | { readonly kind: 'stored'; readonly sequence: number }
  /** `head`: the sequence of the last message under the fence's filter, as the leader says; 0 when there is none. */
  | { readonly kind: 'conflict'; readonly head: number };

/** The stream takes nothing more until its limit is raised or old messages expire. */
export class LogFull extends LogUnavailable {
  override readonly name = 'LogFull';
  override readonly code = 'log_full';
}

/** The message is larger than the broker or the stream takes. Trying again does not help. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
  readonly code = 'event_too_large';
}

// Error codes of nats-server: https://github.com/nats-io/nats-server/blob/main/server/errors.json
const CONFLICTS: ReadonlySet<number> = new Set([10071, 10164, 10158]);
const NO_ROOM: ReadonlySet<number> = new Set([10002, 10023, 10047]);
const TOO_LARGE: ReadonlySet<number> = new Set([10054, 10097]);
const HEADERS_BYTES = 1024;
const SHORTEST_TRY_MS = 250;
const LONGEST_TRY_MS = 2_000;

/**
 * Stores a message exactly once, whatever becomes of the acknowledgements: it is sent again, under the same id, until the
 * broker answers. A single server checks the fence before it drops copies, so the conflict of a second try may be
 * with our own first one; the leader knows.
 * @throws {LogUnavailable} when the broker does not answer in time: the message may or may not be stored
 * @throws {LogFull} @throws {EventTooLarge}
 */
export const publish = async (log: EventLog, message: Publication): Promise<Published> => {
  const { withinMs = CALL_WITHIN_MS } = message;
  const deadline = performance.now() + withinMs;
  for (;;) {
    const left = Math.max(deadline - performance.now(), 1);
    const answer = await publishUntilAcknowledged(log, message, left);
    if (answer.kind === 'stored' || (answer.kind === 'duplicate' && !message.fence)) {
      return { kind: 'stored', sequence: answer.sequence };
    }
    const own = await findStored(log, message, left);
    if (own !== undefined) return { kind: 'stored', sequence: own };
    if (answer.kind === 'duplicate') {
      throw new Error(
        `The broker took a message for ${message.subject} for a copy of message ${answer.sequence}, which it is not: ` +
          `two messages bear the id ${message.id}. Look at both with "nats stream get ${message.stream}".`,
      );
    }
    const head = message.fence ? await lastSequence(log, message.stream, message.fence.filter, left) : 0;
    if (head !== message.fence?.sequence) return { kind: 'conflict', head };
    // A replicated stream refuses also for what is proposed but not yet stored: it is decided in a moment.
    if (performance.now() >= deadline) {
      throw new LogUnavailable(
        `storing a message under ${message.subject}: refused for ${withinMs} ms although nothing else was stored`,
      );
    }
    await pause(20);
  }
};

export type Acknowledged =
  | { readonly kind: 'stored' | 'duplicate'; readonly sequence: number }
  /** `head`: what the broker names as the last sequence under the fence's filter; undefined when it names none. */
  | { readonly kind: 'conflict'; readonly head: number | undefined };

/**
 * Sends a message, again under the same id while no answer comes, and gives the broker's answer as it is: a copy of what
 * is stored already, or a conflict, which may be with an earlier try of this very message.
 * @throws {LogUnavailable} @throws {LogFull} @throws {EventTooLarge}
 */
export const publishUntilAcknowledged = (
  log: EventLog,
  message: Publication,
  leftMs: number = CALL_WITHIN_MS,
): Promise<Acknowledged> => {
  refuseTooLarge(log, message);
  // An acknowledgement that was lost is missed no longer than this, and then the broker is asked again.
  const { withinMs = CALL_WITHIN_MS } = message;
  const tryMs = Math.min(Math.max(withinMs / 4, SHORTEST_TRY_MS), LONGEST_TRY_MS);
  let tries = 0;
  const sendOnce = (): Promise<Acknowledged> => {
    tries += 1;
    if (tries > 1) log.observer.resent();
    return send(log, message, tryMs);
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

/** The broker refused a fenced message, since another was stored first. */
export const isConflict = (error: unknown): boolean =>
  error instanceof JetStreamApiError && CONFLICTS.has(error.code);

/** "wrong last sequence: 12", of error 10071; a cluster may also refuse without a number. */
const headIn = (error: unknown): number | undefined => {
  const [, head] = /wrong last sequence: (\d{1,15})$/.exec(error instanceof Error ? error.message : '') ?? [];
  return head === undefined ? undefined : Number(head);
};

/** A refusal of the broker in our words: LogFull, EventTooLarge, or what it was. */
export const explainRefusal = (error: unknown, stream: string, data: Uint8Array): unknown => {
  if (!(error instanceof JetStreamApiError)) return error;
  const said = `stream ${stream} refused a message of ${data.byteLength} bytes: ${error.message}`;
  // The limit of the stream has no code of its own: it is one of the reasons why storing failed (10077).
  if (NO_ROOM.has(error.code) || error.message.includes('maximum bytes exceeded')) {
    return new LogFull(`${said}. Raise its limit, or wait until old messages expire.`, { cause: error });
  }
  return TOO_LARGE.has(error.code) ? new EventTooLarge(said, { cause: error }) : error;
};

/** If ours was stored, it is the first on its subject behind the fence, so no later message can hide it. */
const findStored = async (
  log: EventLog,
  message: Publication,
  withinMs: number,
): Promise<number | undefined> => {
  const after = message.fence?.sequence ?? 0;
  const found = await nextMessage(log, message.stream, after + 1, message.subject, withinMs);
  return found?.header.get('Nats-Msg-Id') === message.id ? found.seq : undefined;
};

/** The largest payload that the broker takes beside our headers. */
export const maxPayloadBytes = (log: EventLog): number =>
  (log.nc.info?.max_payload ?? 1024 * 1024) - HEADERS_BYTES;

const refuseTooLarge = (log: EventLog, { subject, data }: Publication): void => {
  const most = maxPayloadBytes(log);
  if (data.byteLength <= most) return;
  throw new EventTooLarge(
    `A message for ${subject} has ${data.byteLength} bytes, and the broker takes ${most}. ` +
      'Store what is large as a file and name it in the event.',
  );
};
