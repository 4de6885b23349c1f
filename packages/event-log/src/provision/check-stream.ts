import { isDeepStrictEqual } from 'node:util';
import type { StreamConfig } from '@nats-io/jetstream';
import type { StreamDefinition } from './stream-definitions.ts';

type Setting = keyof StreamConfig;

/** The guarantees of the log do not hold with the configuration of a stream. Nothing was changed. */
export class ForbiddenConfiguration extends Error {
  override readonly name = 'ForbiddenConfiguration';
  readonly code = 'forbidden_configuration';
  readonly stream: string;
  readonly setting: string;
  readonly found: unknown;
  readonly wanted: unknown;

  constructor(
    { name: stream, isShortLived }: StreamDefinition,
    setting: Setting,
    found: unknown,
    wanted: unknown,
  ) {
    super(
      `Stream ${stream} has ${setting} = ${shown(found)}, and ${shown(wanted)} is needed: ${WHY[setting] ?? WHY_ELSE}. ` +
        (isShortLived
          ? `Delete it with "nats stream rm ${stream}" and provision again: what it holds is short-lived.`
          : `Find out who changed it and what happened to the stream since, and restore it with "nats stream edit ${stream}". ` +
            'Where the broker refuses that, move the data away and provision an empty broker.'),
    );
    this.stream = stream;
    this.setting = setting;
    this.found = found;
    this.wanted = wanted;
  }
}

const EMPTIES = 'otherwise any writer can empty the stream with one message (Nats-Rollup)';
const WHY_ELSE = 'the code depends on it';
const WHY: Partial<Record<Setting, string>> = {
  allow_rollup_hdrs: EMPTIES,
  allow_msg_ttl: 'it decides whether a writer may let its messages expire (Nats-TTL)',
  allow_msg_schedules: EMPTIES,
  subject_delete_marker_ttl: EMPTIES,
  deny_delete: 'a deleted event breaks the history of its run',
  deny_purge: 'a purge loses accepted runs',
  discard: 'new events would replace the oldest events of accepted runs',
  storage: 'accepted runs must survive a restart of the broker',
  no_ack: 'without acknowledgements no writer knows whether its event is stored',
  max_consumers: 'every executor has a consumer; the number is fixed when the stream is created',
  persist_mode: 'it decides what survives a crash, and is fixed when the stream is created',
  mirror: 'events may come only from their writers',
  sources: 'events may come only from their writers',
  subject_transform: 'a changed subject bypasses the permissions of its writer',
  sealed: 'no message can be written to it',
};

/** Not allowed for any stream. */
const FOREIGN: Partial<StreamConfig> = { sealed: false };
const FOREIGN_PARTS = ['mirror', 'sources', 'subject_transform'] as const;

/** @throws {ForbiddenConfiguration} for the first setting that differs from a required one */
export const checkRequired = (definition: StreamDefinition, found: Partial<StreamConfig>): void => {
  const wanted: Partial<StreamConfig> = { ...definition.required, ...FOREIGN };
  for (const setting of Object.keys(differences(found, wanted)) as Setting[]) {
    throw new ForbiddenConfiguration(definition, setting, found[setting], wanted[setting]);
  }
  for (const part of FOREIGN_PARTS) {
    if (!isDeepStrictEqual(plain(found[part]), undefined)) {
      throw new ForbiddenConfiguration(definition, part, found[part], undefined);
    }
  }
};

/** The wanted settings that differ from those of the stream. */
export const differences = (
  found: Partial<StreamConfig>,
  wanted: Partial<StreamConfig>,
): Partial<StreamConfig> =>
  Object.fromEntries(
    Object.entries(wanted).filter(
      // Both are StreamConfig; `Object.entries` drops the type of their keys.
      ([setting, value]) => !isDeepStrictEqual(plain(found[setting as Setting]), plain(value)),
    ),
  );

/** The broker leaves out settings that are off, and has several values for "no limit" and "default". */
const plain = (value: unknown): unknown => {
  if (value === false || value === 0 || value === -1 || value === '' || value === 'default') return undefined;
  if (value === null || (Array.isArray(value) && value.length === 0)) return undefined;
  return value;
};

const shown = (value: unknown): string => (plain(value) === undefined ? 'off' : JSON.stringify(value));

/** In the metadata of a stream that takes no messages. */
const CLOSED = 'runledger_closed';

/** Why a stream takes no messages: the steps of `runledger cluster migrate`. */
export type Closed = keyof typeof WHY_CLOSED;

const WHY_CLOSED = {
  moving:
    'it is being copied to other brokers. Finish that with "runledger cluster migrate", or take the log back with ' +
    '"runledger cluster migrate --back"',
  moved:
    'the log was moved to other brokers. Set NATS_URL to the new brokers. To use this one again, stop all services and run ' +
    '"runledger cluster migrate --back"',
  confirmed:
    'the log was moved to other brokers for good. Set NATS_URL to the new brokers; what is here is an old copy, which you may delete',
  copy:
    'it is a copy that is not finished, or from which the log was taken back. Use the broker that it was copied from, or run ' +
    '"runledger cluster migrate" (again)',
} as const;

/** Neither services nor `provision` use a stream that takes no messages. */
export class LogClosed extends Error {
  override readonly name = 'LogClosed';
  readonly code = 'log_closed';

  constructor(stream: string, why: Closed) {
    super(whyClosed(stream, why));
  }
}

export const whyClosed = (stream: string, why: Closed): string =>
  `Stream ${stream} takes no messages: ${WHY_CLOSED[why]}.`;

type Marked = Pick<StreamConfig, 'name' | 'metadata'>;

/** Undefined for a stream in use. */
export const closedAs = ({ metadata }: Marked): Closed | undefined => {
  const mark = metadata?.[CLOSED];
  // A later release may know more reasons, and none of them lets services in.
  return mark === undefined ? undefined : isKnown(mark) ? mark : 'moving';
};

const isKnown = (mark: string): mark is Closed => Object.hasOwn(WHY_CLOSED, mark);

/** @throws {LogClosed} */
export const refuseClosed = (config: Marked): void => {
  const why = closedAs(config);
  if (why !== undefined) throw new LogClosed(config.name, why);
};

/**
 * With these settings the broker itself refuses every message, also of a service that has been connected for long: it says that
 * nobody takes the subject, which services treat as an outage. Nobody may write to the one subject that is left.
 */
export const closedConfig = (config: Marked, why: Closed): Partial<StreamConfig> => ({
  subjects: [`closed.${config.name}`],
  metadata: { ...config.metadata, [CLOSED]: why },
});

export const openConfig = (config: Marked, subjects: readonly string[]): Partial<StreamConfig> => {
  const { [CLOSED]: _mark, ...metadata } = config.metadata ?? {};
  return { subjects: [...subjects], metadata };
};
