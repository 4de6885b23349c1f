import type { ConsumerInfo } from '@nats-io/jetstream';

/** The one process that a durable consumer is for. */
export interface Owner {
  /** Unique to the process; it stands in the metadata of the consumer. */
  readonly id: string;
  /** Whether a message is for this process: none of another owner's is ever handled. */
  readonly owns: (subject: string) => boolean;
}

/** Another process has the durable consumer, and waits for what it hands out. */
export class ConsumerInUse extends Error {
  override readonly name = 'InUse';
  readonly code = 'in_use';
  readonly by: string;

  constructor(consumer: string, by = 'another process') {
    super(`The consumer ${consumer} is ${by}'s, which waits for what it hands out. Stop that process first.`);
    this.by = by;
  }
}

/** Another process has made the durable consumer its own. */
export class ConsumerTakenOver extends Error {
  override readonly name = 'TakenOver';
  readonly code = 'taken_over';

  constructor(consumer: string, { id }: Owner, by = 'another process') {
    super(`The consumer ${consumer} was ${id}'s, and ${by} has taken it over.`);
  }
}

/** Somebody has changed the durable consumer of this process: it may be handed nothing any more, or something else. */
export class ConsumerChanged extends Error {
  override readonly name = 'ConsumerChanged';
  readonly code = 'consumer_changed';

  constructor(consumer: string, changes: readonly string[]) {
    super(
      `Somebody has changed the consumer ${consumer}: ${changes.join('; ')}. Whoever may make consumers on its stream can do that; ` +
        'a new start makes it anew.',
    );
  }
}

const OWNER = 'owner';
/** The broker's own notes, and what an operator may set while it is used. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['metadata', 'num_replicas', 'mem_storage']);

export const metadataOf = ({ id }: Owner): Record<string, string> => ({ [OWNER]: id });
export const ownerOf = ({ config }: ConsumerInfo): string | undefined => config.metadata?.[OWNER];

/** @throws {ConsumerTakenOver} when the consumer is another owner's @throws {ConsumerChanged} when it is not as it was opened */
export const checkAsOpened = (found: ConsumerInfo, opened: ConsumerInfo, owner: Owner | undefined): void => {
  if (owner === undefined) return;
  const by = ownerOf(found);
  if (by !== owner.id) throw new ConsumerTakenOver(found.name, owner, by);
  const changes = changesOf(settingsOf(opened), settingsOf(found));
  if (changes.length > 0) throw new ConsumerChanged(found.name, changes);
};

/** As JSON, by name. A setting that is off is as good as none. */
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
