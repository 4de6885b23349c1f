import { oneOf } from '@runledger/service-kit/config-schemas';
import type { Static, TObject } from 'typebox';
import { directory } from './stores/directory-output-store.ts';
import { jetstream } from './stores/jetstream-output-store.ts';
import { s3 } from './stores/s3-output-store.ts';
import type { OutputStore, OutputStoreParts } from './output-store.ts';

/** Every technology that can keep output files, by the value of RUNLEDGER_OUTPUTS. Another one is a line here. */
const ADAPTERS = { jetstream, directory, s3 };

type Name = keyof typeof ADAPTERS;
type Both<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;
type Settings = Both<(typeof ADAPTERS)[Name]['settings']>;

// The types of Object.keys and Object.assign are wider than their results.
const names = Object.keys(ADAPTERS) as Name[];
const settings = Object.assign({}, ...names.map((name) => ADAPTERS[name].settings)) as Settings;

/** The environment variables of output files: to spread into the configuration schema. */
export const outputsConfig = {
  RUNLEDGER_OUTPUTS: oneOf(names, {
    default: 'jetstream',
    description:
      'where output files are kept: the object store OUTPUTS of the broker, a directory that all gateways share, or a bucket of an S3-compatible store',
  }),
  ...settings,
};

type OutputsConfig = Static<TObject<typeof outputsConfig>>;

export interface OpenedOutputs {
  readonly store: OutputStore & AsyncDisposable;
  /** Reading a file needs the broker. */
  readonly needsLog: boolean;
}

/** The store that the settings choose. @throws {ConfigError} */
export const openOutputStore = (config: OutputsConfig, parts: OutputStoreParts): OpenedOutputs => {
  const adapter = ADAPTERS[config.RUNLEDGER_OUTPUTS];
  return { store: adapter.open(config, parts), needsLog: adapter.needsLog };
};
