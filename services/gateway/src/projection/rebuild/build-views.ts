import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { runsIdentity } from '@runledger/event-log/messages/stream-identity';
import { readPages } from '@runledger/event-log/read/read-pages';
import { beginningOf, type ProjectionPosition } from '../core/projection-start.ts';
import { projectBatch } from '../project-batch.ts';
import { readStart } from '../read-start.ts';
import type { NextViews, RunViews } from '../run-views.ts';
import { copyOld } from './copy-old.ts';
import { inBatches } from './core/in-batches.ts';

/** What is read of the live set meanwhile. */
export type ComparedSet = Pick<RunViews, 'listAll' | 'load'>;

/** What the archive has of a run, by its chains. */
export interface ArchivedRun {
  readonly life: readonly StoredMessage[];
  readonly webhook: readonly StoredMessage[];
  /** Some of it is erased: the run was deleted. */
  readonly isErased: boolean;
}

export interface BuildOptions {
  readonly log: EventLog;
  readonly logger: Logger;
  /** The set whose place the next one takes. */
  readonly live: ComparedSet;
  /** All runs that the archive has of this log. */
  readonly archived: AsyncIterable<ArchivedRun>;
  readonly next: NextViews;
  /** Of the next set. */
  readonly derivation: number;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BuildProgress) => void;
}

export interface BuildProgress {
  readonly step: 'copying' | 'folding' | 'comparing';
  /** Views that were copied or compared, or the sequence that is folded. */
  readonly done: number;
  /** The last sequence of the log; null while it is not known how many there are. */
  readonly of: number | null;
}

const MESSAGES_AT_ONCE = 1_024;
/** So many that came meanwhile are left to who has the live set: they are folded while it stands still. */
const NEARLY = 500;

/**
 * Makes the next set from the log, or goes on with it, until it is nearly as far as the log. The same facts, folded twice, change
 * nothing, so it may be killed at any moment. @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {NewerVersion}
 */
export const buildViews = async (options: BuildOptions): Promise<ProjectionPosition> => {
  const at = await begin(options);
  return foldUpToNow(options, at);
};

const begin = async ({ log, next, derivation, ...options }: BuildOptions): Promise<ProjectionPosition> => {
  const present = await next.position();
  const { identity, start } = await readStart(log, present, undefined);
  const isBegun = start.kind === 'continue' && start.from.derivation === derivation;
  // What the log has lost since then is in the archive, and in the live set.
  if (isBegun && start.from.sequence > 0 && start.from === present) return present;
  const beginning = beginningOf(identity, derivation);
  await next.resetTo(beginning);
  await copyOld({ ...options, next }, identity.since);
  return beginning;
};

/** Folds what the next set does not have yet. */
export const foldUpToNow = async (
  options: Omit<BuildOptions, 'live' | 'archived' | 'derivation'>,
  from: ProjectionPosition,
  onBatch: (messages: readonly StoredMessage[]) => void = () => undefined,
): Promise<ProjectionPosition> => {
  const { log, next, logger, signal, onProgress } = options;
  let at = from;
  for (let left = 0; ; left = NEARLY) {
    const { lastSequence: end } = await runsIdentity(log, at.sequence);
    if (end - at.sequence <= left) return at;
    const pages = readPages(log, 'RUNS', { from: at.sequence + 1, upTo: end });
    for await (const messages of inBatches(pages, MESSAGES_AT_ONCE)) {
      signal.throwIfAborted();
      at = await foldInto({ log, next, logger }, at, messages);
      onBatch(messages);
      onProgress({ step: 'folding', done: at.sequence, of: end });
    }
  }
};

/** Folds these messages into the next set. What is part of no run, the live projection has reported already. */
export const foldInto = (
  { log, next, logger }: Pick<BuildOptions, 'log' | 'next' | 'logger'>,
  at: ProjectionPosition,
  messages: readonly StoredMessage[],
): Promise<ProjectionPosition> =>
  projectBatch({ log, views: next, logger, onRefused: async () => undefined }, at, messages);
