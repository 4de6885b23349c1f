import { setTimeout as pause } from 'node:timers/promises';
import { AckPolicy, DeliverPolicy, JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import type { ConsumerConfig, ConsumerInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { callBroker } from '../connect/broker-call.ts';
import type { ConsumeOptions } from './consume-options.ts';
import { ConsumerInUse, metadataOf, ownerOf, type Owner } from './consumer-owner.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { ACK_WITHIN_MS } from './handle-message.ts';

// Error codes of nats-server: https://github.com/nats-io/nats-server/blob/main/server/errors.json
const THERE_ALREADY: ReadonlySet<number> = new Set([10013, 10105, 10148]);
const MOST_TRIES = 5;
/** A process asks again at once when a request has ended, and within this time after the broker was away. */
const UNUSED_FOR_MS = 1_000;
const LOOK_AGAIN_MS = 200;

/**
 * Opens the durable consumer under its name, made anew when it is another owner's.
 * @throws {LogUnavailable} @throws {ConsumerInUse} when that one is alive
 */
export const openConsumer = (log: EventLog, options: ConsumeOptions): Promise<ConsumerInfo> => {
  const { name, stream, owner } = options;
  return callBroker(`opening the consumer ${name} of ${stream}`, () =>
    owner === undefined ? openShared(log, options) : openOwned(log, options, owner),
  );
};

/** Undefined when there is none. */
export const findConsumer = async (
  log: EventLog,
  stream: string,
  name: string,
): Promise<ConsumerInfo | undefined> => {
  try {
    return await log.jsm.consumers.info(stream, name);
  } catch (error) {
    if (isError(error, JetStreamApiCodes.ConsumerNotFound)) return undefined;
    throw error;
  }
};

const openShared = async (log: EventLog, options: ConsumeOptions): Promise<ConsumerInfo> => {
  const { name, stream, subjects } = options;
  const config = { ...configOf(options), filter_subjects: [...subjects] };
  return (await findConsumer(log, stream, name)) === undefined
    ? log.jsm.consumers.add(stream, { ...config, ...beginningOf(options) })
    : log.jsm.consumers.update(stream, name, config);
};

/** With one filter that stands in the request's own subject, so that the broker can allow a process its own filter only. */
const openOwned = async (log: EventLog, options: ConsumeOptions, owner: Owner): Promise<ConsumerInfo> => {
  const { name, stream, subjects } = options;
  const [subject, ...more] = subjects;
  if (subject === undefined || more.length > 0)
    throw new TypeError(`The consumer ${name} needs one subject.`);
  const config = { ...configOf(options), filter_subject: subject, metadata: metadataOf(owner) };
  for (let tries = 1; ; tries += 1) {
    const found = await findConsumerOrUnavailable(log, stream, name);
    const before = found && ownerOf(found);
    if (found && before === owner.id) return found;
    if (found) {
      await waitUntilUnused(log, found);
      log.logger.warn({ consumer: name, stream, before }, 'the consumer of an earlier process is made anew');
      await removeConsumer(log, stream, name);
    }
    try {
      return await log.jsm.consumers.add(stream, { ...config, ...beginningOf(options) });
    } catch (error) {
      // Another process of that name starts at the same moment. The first one has it.
      const met = error instanceof JetStreamApiError && THERE_ALREADY.has(error.code);
      if (!met || tries === MOST_TRIES) throw error;
    }
  }
};

/** The broker forgets at once who waits when its connection ends. @throws {ConsumerInUse} */
const waitUntilUnused = async (log: EventLog, found: ConsumerInfo): Promise<void> => {
  const unusedAt = performance.now() + UNUSED_FOR_MS;
  for (let seen: ConsumerInfo | undefined = found; seen;) {
    if (seen.num_waiting > 0) throw new ConsumerInUse(seen.name, ownerOf(seen));
    if (performance.now() >= unusedAt) return;
    await pause(LOOK_AGAIN_MS);
    seen = await findConsumer(log, found.stream_name, found.name);
  }
};

/** A process that may not look at streams learns here that this one is not made yet. */
const findConsumerOrUnavailable = async (
  log: EventLog,
  stream: string,
  name: string,
): Promise<ConsumerInfo | undefined> => {
  try {
    return await findConsumer(log, stream, name);
  } catch (error) {
    if (!isError(error, JetStreamApiCodes.StreamNotFound)) throw error;
    throw new LogUnavailable(`Stream ${stream} is not there yet; runledger provision makes it.`, {
      cause: error,
    });
  }
};

const removeConsumer = async (log: EventLog, stream: string, name: string): Promise<void> => {
  try {
    await log.jsm.consumers.delete(stream, name);
  } catch (error) {
    if (!isError(error, JetStreamApiCodes.ConsumerNotFound)) throw error;
  }
};

const configOf = ({
  maxInFlight = 1,
  expireAfterMs: forgetAfterMs,
}: ConsumeOptions): Partial<ConsumerConfig> => ({
  ack_wait: nanos(ACK_WITHIN_MS),
  // With one at a time, the broker itself keeps the order, over redeliveries too.
  max_ack_pending: maxInFlight,
  max_deliver: -1,
  ...(forgetAfterMs === undefined ? {} : { inactive_threshold: nanos(forgetAfterMs) }),
});

const beginningOf = ({ name, deliver }: ConsumeOptions): Partial<ConsumerConfig> => ({
  durable_name: name,
  ack_policy: AckPolicy.Explicit,
  deliver_policy: deliver === 'all' ? DeliverPolicy.All : DeliverPolicy.New,
});

const isError = (error: unknown, code: number): boolean =>
  error instanceof JetStreamApiError && error.code === code;
