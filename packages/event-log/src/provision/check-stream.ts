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
