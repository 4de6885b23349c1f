import { Heartbeat } from '@runledger/contracts/events/fleet-event';
import { newUuid, type ExecutorId } from '@runledger/contracts/ids';
import type { StreamInfo } from '@nats-io/jetstream';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { publish } from '@runledger/event-log/append/publish';
import { pullInOrder } from '@runledger/event-log/follow/pull-in-order';
import { parseJson, type DeliveredMessage } from '@runledger/event-log/read/stored-message';

const STREAM = 'KV_EXECUTORS';
const PREFIX = '$KV.EXECUTORS.';
/** A late heartbeat is useless: the next one follows. */
const SEND_WITHIN_MS = 2_000;

const heartbeatSchema = compiledSchema(Heartbeat);
const utf8 = new TextEncoder();

/** Shows that the executor is alive. Expires after `ttlMs` (whole seconds, rounded up). @throws {LogUnavailable} after 2 s */
export const sendHeartbeat = async (log: EventLog, heartbeat: Heartbeat, ttlMs: number): Promise<void> => {
  await publish(log, {
    stream: STREAM,
    subject: `${PREFIX}${heartbeat.executor_id}`,
    data: utf8.encode(JSON.stringify(heartbeat)),
    id: newUuid(),
    ttl: `${Math.max(Math.ceil(ttlMs / 1_000), 1)}s`,
    withinMs: SEND_WITHIN_MS,
  });
};

/** A heartbeat as the stream's leader holds it, with the time at which the broker stored it. */
export interface StoredHeartbeat {
  readonly heartbeat: Heartbeat;
  readonly time: string;
}

/** The executor's last heartbeat, which a subscription may not have delivered yet; undefined when it has expired. @throws {LogUnavailable} */
export const lastHeartbeat = async (
  log: EventLog,
  executor: ExecutorId,
): Promise<StoredHeartbeat | undefined> => {
  const message = await lastMessage(log, STREAM, `${PREFIX}${executor}`);
  const heartbeat = message ? parseJson(message.data) : undefined;
  return message && heartbeatSchema.Check(heartbeat)
    ? { heartbeat, time: message.time.toISOString() }
    : undefined;
};

/**
 * Delivers the last heartbeat of every executor, then each new one with the broker's time. Recovers after any restart of the
 * broker, even one that lost heartbeats. The listener has to notice when a heartbeat is missing.
 */
export const watchHeartbeats = (
  log: EventLog,
  onHeartbeat: (heartbeat: Heartbeat, brokerTime: string) => void,
): Promise<AsyncDisposable> => {
  let position = 0;
  const unreadable = new Set<string>();
  return pullInOrder(log, {
    stream: STREAM,
    subjects: [`${PREFIX}>`],
    begin: (info: StreamInfo) => {
      const knows = position > 0 && position <= info.state.last_seq;
      return knows
        ? { deliver_policy: 'by_start_sequence', opt_start_seq: position + 1 }
        : { deliver_policy: 'last_per_subject' };
    },
    take: async (messages: readonly DeliveredMessage[]) => {
      for (const message of messages) {
        position = message.sequence;
        const heartbeat = parseJson(message.data);
        if (!heartbeatSchema.Check(heartbeat) || message.subject !== `${PREFIX}${heartbeat.executor_id}`) {
          logOnce(log, unreadable, message.subject);
          continue;
        }
        try {
          onHeartbeat(heartbeat, message.time);
        } catch (error) {
          log.logger.error(
            { err: error, executor: heartbeat.executor_id },
            'a heartbeat could not be handled',
          );
        }
      }
    },
  });
};

const MAX_LOGGED = 1_000;

/** Its executor will be lost, and the log should say why: once for each name, under which it may send any number. */
const logOnce = (log: EventLog, logged: Set<string>, subject: string): void => {
  const [name = ''] = subject.slice(PREFIX.length).split('.');
  if (logged.has(name) || logged.size === MAX_LOGGED) return;
  logged.add(name);
  log.logger.error({ subject }, 'a heartbeat cannot be read; is its executor of a later release?');
};
