import type { BlobRef } from '@runledger/contracts/blobs';
import { RunOutputs, type RunOutput } from '@runledger/contracts/events/run-event-data';
import type { RunEvent, RunEventOf } from '@runledger/contracts/events/run-event';
import { isEnded, type OutputListing, type Run, type RunFact } from '@runledger/contracts/fold/run';
import type { MissingMember } from '@runledger/contracts/http/runs/run-outputs';
import type { Logger } from '@runledger/event-log/connect/observability';
import { LRUCache } from 'lru-cache';
import { Value } from 'typebox/value';
import { readJsonBlob } from './json-blob.ts';
import type { BlobStore } from './blob-store.ts';

/** Runs with the outputs that are in blobs. Every method may throw LogUnavailable. */
export interface OutputLists {
  /** What is listed. A list that has expired, or was damaged, is empty. */
  listed(org_id: string, outputs: OutputListing): Promise<readonly RunOutput[]>;
  /** The run with its outputs. A list that has expired, or was damaged, is empty, and `missing` says so. */
  ofRun(run: Run): Promise<RunWithOutputs>;
  /** The same for the fact that ends a run. */
  ofFact(fact: RunFact): Promise<FactWithOutputs>;
}

export interface RunWithOutputs {
  readonly run: Run;
  readonly missing: readonly MissingMember[];
}

export interface FactWithOutputs {
  readonly fact: RunFact;
  readonly missing: readonly MissingMember[];
}

export interface OutputListsOptions {
  readonly blobs: Pick<BlobStore, 'get'>;
  readonly logger: Pick<Logger, 'warn'>;
}

interface Loaded {
  readonly outputs: readonly RunOutput[];
  readonly lost?: MissingMember['reason'];
}

const CACHE_BYTES = 16 * 1024 * 1024;

/** Keeps the lists that were used last. */
export const outputLists = ({ blobs, logger }: OutputListsOptions): OutputLists => {
  const kept = new LRUCache<string, readonly RunOutput[]>({ maxSize: CACHE_BYTES });

  const read = async (org_id: string, sha256: string): Promise<Loaded> => {
    const found = await readJsonBlob(blobs, org_id, sha256);
    if (found.kind === 'found' && Value.Check(RunOutputs, found.value)) return { outputs: found.value };
    const why = found.kind === 'damaged' ? { err: found.error } : {};
    logger.warn(
      { org_id, sha256, ...why },
      'a list of outputs has expired, or is damaged; the run is shown without it',
    );
    return { outputs: [], lost: found.kind === 'gone' ? 'gone' : 'damaged' };
  };
  const load = async (org_id: string, { sha256, bytes }: BlobRef): Promise<Loaded> => {
    const name = `${org_id}.${sha256}`;
    const known = kept.get(name);
    if (known) return { outputs: known };
    const loaded = await read(org_id, sha256);
    if (loaded.lost === undefined) kept.set(name, loaded.outputs, { size: bytes });
    return loaded;
  };

  return {
    listed: async (org_id, { outputs, outputs_blob }) =>
      outputs ?? (outputs_blob ? (await load(org_id, outputs_blob)).outputs : []),
    ofRun: async (run) => {
      if (!isEnded(run) || !run.outputs_blob) return { run, missing: [] };
      const { outputs, lost } = await load(run.org_id, run.outputs_blob);
      return { run: { ...run, outputs, outputs_blob: null }, missing: missingOf(lost) };
    },
    ofFact: async (fact) => {
      const { event } = fact;
      if (!hasOutputs(event) || !event.data.outputs_blob) return { fact, missing: [] };
      const { outputs: list, lost } = await load(event.org_id, event.data.outputs_blob);
      const outputs = [...list];
      // Its type is one of three, and they have the same members.
      const loaded = { ...event, data: { ...event.data, outputs, outputs_blob: null } } as typeof event;
      return { fact: { ...fact, event: loaded }, missing: missingOf(lost) };
    },
  };
};

const missingOf = (lost: MissingMember['reason'] | undefined): readonly MissingMember[] =>
  lost === undefined ? [] : [{ member: 'outputs', reason: lost }];

type EventWithOutputs = RunEventOf<'RunSucceeded'> | RunEventOf<'RunFailed'> | RunEventOf<'RunCancelled'>;

const hasOutputs = (event: RunEvent): event is EventWithOutputs => 'outputs_blob' in event.data;
