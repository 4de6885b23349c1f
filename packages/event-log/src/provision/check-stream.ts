import { isDeepStrictEqual } from 'node:util';
import type { StreamConfig } from '@nats-io/jetstream';
import type { StreamDefinition } from './stream-definitions.ts';

type Setting = keyof StreamConfig;

/** A stream is set up so that the guarantees of the log do not hold. Nothing was changed. */
export class ForbiddenConfiguration extends Error {
  override readonly name = 'ForbiddenConfiguration';
  readonly code = 'forbidden_configuration';
  readonly stream: string;
  readonly setting: string;
  readonly found: unknown;
  readonly wanted: unknown;

  constructor(stream: string, setting: Setting, found: unknown, wanted: unknown) {
    super(
      `Stream ${stream} has ${setting} = ${shown(found)}, and ${shown(wanted)} is needed: ${WHY[setting] ?? WHY_ELSE}. ` +
        `Find out who changed it and what happened to the stream meanwhile, set it back with "nats stream edit ${stream}"; ` +
        'where the broker refuses that, move the data away and provision an empty broker.',
    );
    this.stream = stream;
    this.setting = setting;
    this.found = found;
    this.wanted = wanted;
  }
}

const EMPTIES = 'with it any writer can empty the stream with one message (Nats-Rollup)';
const WHY_ELSE = 'the code relies on it';
const WHY: Partial<Record<Setting, string>> = {
  allow_rollup_hdrs: EMPTIES,
  allow_msg_ttl: EMPTIES,
  allow_msg_schedules: EMPTIES,
  subject_delete_marker_ttl: EMPTIES,
  deny_delete: 'a deleted event breaks the history of its run',
  deny_purge: 'a purge loses accepted runs',
  discard: 'the oldest events of accepted runs would be dropped for new ones',
  storage: 'accepted runs must survive a restart of the broker',
  no_ack: 'without acknowledgements nothing is known to be stored',
  max_consumers: 'every executor has a consumer; it is fixed when the stream is made',
  persist_mode: 'it decides what survives a crash, and is fixed when the stream is made',
  mirror: 'events may come from their writers only',
  sources: 'events may come from their writers only',
  subject_transform: 'a changed subject is no longer what its writer may write',
  sealed: 'nothing can be written to it',
};

/** No definition has these. */
const FOREIGN: Partial<StreamConfig> = { sealed: false };
const FOREIGN_PARTS = ['mirror', 'sources', 'subject_transform'] as const;

/** @throws {ForbiddenConfiguration} for the first setting that differs from a required one */
export const checkRequired = (definition: StreamDefinition, found: Partial<StreamConfig>): void => {
  const wanted: Partial<StreamConfig> = { ...definition.required, ...FOREIGN };
  for (const setting of Object.keys(differences(found, wanted)) as Setting[]) {
    throw new ForbiddenConfiguration(definition.name, setting, found[setting], wanted[setting]);
  }
  for (const part of FOREIGN_PARTS) {
    if (!isDeepStrictEqual(plain(found[part]), undefined)) {
      throw new ForbiddenConfiguration(definition.name, part, found[part], undefined);
    }
  }
};

/** Those of the wanted settings that the stream does not have. */
export const differences = (
  found: Partial<StreamConfig>,
  wanted: Partial<StreamConfig>,
): Partial<StreamConfig> =>
  Object.fromEntries(
    Object.entries(wanted).filter(
      // Both are StreamConfig; `Object.entries` forgets the names of its members.
      ([setting, value]) => !isDeepStrictEqual(plain(found[setting as Setting]), plain(value)),
    ),
  );

/** The broker leaves out what is off, and its words for "no limit" and "the default" vary. */
const plain = (value: unknown): unknown => {
  if (value === false || value === 0 || value === -1 || value === '' || value === 'default') return undefined;
  if (value === null || (Array.isArray(value) && value.length === 0)) return undefined;
  return value;
};

const shown = (value: unknown): string => (plain(value) === undefined ? 'off' : JSON.stringify(value));
