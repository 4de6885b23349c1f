import { setTimeout as pause } from 'node:timers/promises';
import {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type ConsumerConfig,
  type ConsumerInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { within } from '@runledger/resilience/within';
import { callBroker } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';
import { ConsumerInUse, metadataOf, ownerOf, type OwnedConsumer, type Owner } from './consumer-owner.ts';

export interface ConsumeOptions {
  /** The durable name, under which the broker keeps the position. Letters, digits, "_" and "-". */
  readonly name: string;
  readonly stream: string;
  readonly subjects: readonly string[];
  /** Where a new consumer begins: with all stored messages, or with new ones only. */
  readonly deliver: 'all' | 'new';
  /**
   * The consumer is for one process at a time, and for one subject. It is not opened while another process uses it.
   * The consumption stops with ConsumerTakenOver when another process has it all the same, and with ConsumerChanged when
   * its configuration was changed.
   */
  readonly owner?: Owner;
}

const MAX_TRIES = 5;
/** A living process sends the next pull at once, and within this time after the broker was unavailable. */
const UNUSED_FOR_MS = 1_000;
const POLL_MS = 200;
const GIVEN_UP_WITHIN_MS = 500;
/** Far more than one acknowledgement is for. */
const MAX_UNACKNOWLEDGED = 20_000;
/** A connection that ends loses what was on its way: it comes again by `rewind`, in its order, and not one by one after this time. */
const ACK_WITHIN_MS = 3_600_000;

/**
 * Opens the durable consumer under its name. A consumer of an earlier owner is replaced.
 * @throws {LogUnavailable} @throws {ConsumerInUse} when that owner is alive
 */
export const openConsumer = (log: EventLog, options: ConsumeOptions): Promise<ConsumerInfo> => {
  const { name, stream, owner } = options;
  return callBroker(`opening the consumer ${name} of ${stream}`, () =>
    owner === undefined ? openShared(log, options) : openOwned(log, options, owner),
  );
};

/** Undefined when it does not exist. */
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
  const config = { ...CONFIG, filter_subjects: [...subjects] };
  if ((await findConsumer(log, stream, name)) === undefined)
    return log.jsm.consumers.add(stream, { ...config, ...settingsOf(options) });
  const updated = await log.jsm.consumers.update(stream, name, config);
  await rewind(log, updated);
  return updated;
};

/** What was delivered and not acknowledged is delivered again, before everything else. */
const rewind = async (log: EventLog, { stream_name, name }: ConsumerInfo): Promise<void> => {
  await log.jsm.consumers.reset(stream_name, name);
};

/**
 * Rewinds it once no pull is waiting, and says whether it did. The broker may not see at once that a pull was given up, and would
 * deliver to it what the next one is to get.
 */
export const rewindUnused = async (log: EventLog, found: ConsumerInfo): Promise<boolean> => {
  if (found.num_waiting > 0) return false;
  await rewind(log, found);
  return true;
};

const openOwned = async (log: EventLog, options: ConsumeOptions, owner: Owner): Promise<ConsumerInfo> => {
  const { name, stream, subjects } = options;
  const [subject, ...more] = subjects;
  if (subject === undefined || more.length > 0)
    throw new TypeError(`The consumer ${name} needs one subject.`);
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const found = await findConsumerOrUnavailable(log, stream, name);
    const before = found && ownerOf(found);
    if (found && before === owner.id) {
      await rewind(log, found);
      return found;
    }
    if (found) {
      await waitUntilUnused(log, found);
      log.logger.info({ consumer: name, stream, before }, 'the consumer of an earlier process is replaced');
      await removeConsumer(log, stream, name);
    }
    // Another process of that name may start at the same moment. The first one gets the consumer.
    await owner.create({ stream, name, subject, owner: owner.id });
  }
  throw new ConsumerInUse(name);
};

/** When a connection ends, the broker drops its pulls at once. @throws {ConsumerInUse} */
const waitUntilUnused = async (log: EventLog, found: ConsumerInfo): Promise<void> => {
  const unusedAt = performance.now() + UNUSED_FOR_MS;
  for (let seen: ConsumerInfo | undefined = found; seen;) {
    if (seen.num_waiting > 0) throw new ConsumerInUse(seen.name, ownerOf(seen));
    if (performance.now() >= unusedAt) return;
    await pause(POLL_MS);
    seen = await findConsumer(log, found.stream_name, found.name);
  }
};

/**
 * Lets the next process of the name open the consumer at once, which else waits a second to see that nobody uses it. What it could still
 * deliver was for this owner alone. Nothing if the broker does not respond soon, or the consumer is another owner's.
 */
export const giveUpConsumer = async (log: EventLog, opened: ConsumerInfo, owner: Owner): Promise<void> => {
  const { stream_name: stream, name } = opened;
  const giveUp = async (): Promise<void> => {
    const found = await findConsumer(log, stream, name);
    if (found && ownerOf(found) === owner.id) await removeConsumer(log, stream, name);
  };
  const remains = (error: unknown): void =>
    log.logger.warn({ err: error, consumer: name, stream }, 'the consumer of this process was not removed');
  await within(GIVEN_UP_WITHIN_MS, giveUp().catch(remains), () => undefined);
};

/** A process without permission to read stream states finds out here that the stream does not exist yet. */
const findConsumerOrUnavailable = async (
  log: EventLog,
  stream: string,
  name: string,
): Promise<ConsumerInfo | undefined> => {
  try {
    return await findConsumer(log, stream, name);
  } catch (error) {
    if (!isError(error, JetStreamApiCodes.StreamNotFound)) throw error;
    throw new LogUnavailable(
      `Streams do not exist yet, ${stream} is one; runledger provision creates them.`,
      {
        cause: error,
      },
    );
  }
};

const removeConsumer = async (log: EventLog, stream: string, name: string): Promise<void> => {
  try {
    await log.jsm.consumers.delete(stream, name);
  } catch (error) {
    if (!isError(error, JetStreamApiCodes.ConsumerNotFound)) throw error;
  }
};

const CONFIG: Partial<ConsumerConfig> = {
  ack_wait: nanos(ACK_WITHIN_MS),
  max_ack_pending: MAX_UNACKNOWLEDGED,
  max_deliver: -1,
};

/** Of a new consumer. */
const settingsOf = ({
  name,
  deliver,
}: Pick<ConsumeOptions, 'name' | 'deliver'>): Partial<ConsumerConfig> => ({
  ...CONFIG,
  durable_name: name,
  ack_policy: AckPolicy.All,
  deliver_policy: deliver === 'all' ? DeliverPolicy.All : DeliverPolicy.New,
});

const isError = (error: unknown, code: number): boolean =>
  error instanceof JetStreamApiError && error.code === code;

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
