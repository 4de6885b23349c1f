import { oneOf } from '@runledger/service-kit/config-schemas';
import type { Static, TObject } from 'typebox';
import { directory } from './stores/directory-output-store.ts';
import { jetstream } from './stores/jetstream-output-store.ts';
import { s3 } from './stores/s3-output-store.ts';
import type { OutputStore, OutputStoreParts } from './output-store.ts';

/** Every technology that can keep output files, by the value of RUNLEDGER_OUTPUTS. */
const ADAPTERS = { jetstream, directory, s3 };

/** The environment variables of output files: to spread into the configuration schema. */
export const outputsConfig = {
  RUNLEDGER_OUTPUTS: oneOf(['jetstream', 'directory', 's3'], {
    default: 'jetstream',
    description:
      'where output files are kept: the object store OUTPUTS of the broker, a directory that all gateways share, or a bucket of an S3-compatible store',
  }),
  ...directory.settings,
  ...s3.settings,
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
  return { store: adapter.open(config, parts, 'outputs'), needsLog: adapter.needsLog };
};

/** Of the same technology, beside the output files. @throws {ConfigError} */
export const openModelStore = (
  config: OutputsConfig,
  parts: OutputStoreParts,
): OutputStore & AsyncDisposable => ADAPTERS[config.RUNLEDGER_OUTPUTS].open(config, parts, 'models');
