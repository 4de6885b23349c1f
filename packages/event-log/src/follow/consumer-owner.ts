import type { ConsumerInfo } from '@nats-io/jetstream';

/** The one process that a durable consumer is for. */
export interface Owner {
  /** Unique to the process; stored in the metadata of the consumer. */
  readonly id: string;
  /** Whether a message is for this process. A message of another owner is never handled. */
  readonly owns: (subject: string) => boolean;
  /** Creates the consumer, unless there is one of that name: see `createOwnedConsumer`. @throws {LogUnavailable} when nobody does */
  readonly create: (wanted: OwnedConsumer) => Promise<void>;
}

/** A consumer for one process, and the one subject that it delivers. */
export interface OwnedConsumer {
  readonly stream: string;
  readonly name: string;
  readonly subject: string;
  /** `Owner.id`. */
  readonly owner: string;
}

/** Another process uses the durable consumer. */
export class ConsumerInUse extends Error {
  override readonly name = 'ConsumerInUse';
  readonly code = 'consumer_in_use';
  readonly by: string;

  constructor(consumer: string, by = 'another process') {
    super(`The consumer ${consumer} is in use by ${by}. Stop that process first.`);
    this.by = by;
  }
}

/** Another process has taken over the durable consumer. */
export class ConsumerTakenOver extends Error {
  override readonly name = 'ConsumerTakenOver';
  readonly code = 'consumer_taken_over';

  constructor(consumer: string, { id }: Owner, by = 'another process') {
    super(`The consumer ${consumer} of ${id} was taken over by ${by}.`);
  }
}

/** The configuration of this process's durable consumer was changed: it may deliver nothing, or other messages. */
export class ConsumerChanged extends Error {
  override readonly name = 'ConsumerChanged';
  readonly code = 'consumer_changed';

  constructor(consumer: string, changes: readonly string[]) {
    super(
      `The consumer ${consumer} was changed: ${changes.join('; ')}. Any user allowed to create consumers on its stream can do that. ` +
        'A restart of this process creates it again.',
    );
  }
}

const OWNER = 'owner';
/** Set by the broker itself, or by an operator during use. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['metadata', 'num_replicas', 'mem_storage']);

export const metadataOf = (owner: string): Record<string, string> => ({ [OWNER]: owner });
export const ownerOf = ({ config }: ConsumerInfo): string | undefined => config.metadata?.[OWNER];

/** @throws {ConsumerTakenOver} when the consumer is another owner's @throws {ConsumerChanged} when it is not as it was opened */
export const checkAsOpened = (found: ConsumerInfo, opened: ConsumerInfo, owner: Owner | undefined): void => {
  if (owner === undefined) return;
  const by = ownerOf(found);
  if (by !== owner.id) throw new ConsumerTakenOver(found.name, owner, by);
  const changes = changesOf(settingsOf(opened), settingsOf(found));
  if (changes.length > 0) throw new ConsumerChanged(found.name, changes);
};

/** As JSON, by name. A setting that is off counts as not set. */
const settingsOf = ({ config }: ConsumerInfo): ReadonlyMap<string, string> =>
  new Map(
    Object.entries<unknown>({ ...config })
      .filter(([name, value]) => !NOT_COMPARED.has(name) && Boolean(value))
      .map(([name, value]) => [name, JSON.stringify(value)]),
  );

const changesOf = (was: ReadonlyMap<string, string>, is: ReadonlyMap<string, string>): string[] =>
  [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => was.get(name) !== is.get(name))
    .map((name) => `${name} is ${is.get(name) ?? 'not set'} and was ${was.get(name) ?? 'not set'}`);
