import type { RebuildComparison, RebuildViewsResponse } from '@runledger/contracts/requests/rebuild-views';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { RunProjection } from '../run-projection.ts';
import type { ViewStore } from '../run-views.ts';
import { buildInThread, type ThreadOptions } from './build-in-thread.ts';
import type { Difference } from './differences.ts';
import type { ArchivedRun } from './build-views.ts';
import type { Keeping } from './compare-again.ts';
import { finishRebuild } from './finish-rebuild.ts';
import type { BuildOrder, Built } from './worker-messages.ts';

export interface RebuildOptions extends Keeping {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly views: ViewStore;
  readonly projection: RunProjection;
  /** What the archive has of the present log behind a sequence. */
  readonly archived: (behind: number) => AsyncIterable<ArchivedRun>;
  /** What the thread begins with, besides. */
  readonly order: Pick<BuildOrder, 'config' | 'instance' | 'level' | 'version'>;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** How far a rebuild is, or how the last one ended. */
export type RebuildState = Omit<RebuildViewsResponse, 'derivation'>;

export interface RunningRebuild {
  readonly state: () => RebuildState;
  readonly isOver: () => boolean;
  /** Resolves when nothing of it is under way. What was built stays. */
  readonly stop: () => Promise<void>;
}

const EXAMPLES = 20;

/** Builds the next set, or goes on with it, compares it, and puts it in place unless it differs. Whatever fails is in its state. */
export const runRebuild = (options: RebuildOptions, acceptsDifferences: boolean): RunningRebuild => {
  const { views, logger, clock } = options;
  const stop = new AbortController();
  const began = clock();
  let isOver = false;
  let state: RebuildState = { state: 'copying', done: 0 };
  const onProgress: ThreadOptions['onProgress'] = ({ step, done, of }) => {
    state = { state: step, done, ...(of === null ? {} : { of }) };
  };
  const work = async (): Promise<RebuildState> => {
    const { derivation = 0 } = (await views.position()) ?? {};
    const order = { ...options.order, derivation: derivation + 1, isCompared: true };
    const from = { live: views, archived: options.archived(0) };
    const built = await buildInThread(order, { ...from, signal: stop.signal, onProgress });
    state = { state: 'finishing' };
    const finished = await finishRebuild({ ...options, acceptsDifferences, signal: stop.signal }, built);
    if (!finished)
      return { state: 'failed', why: 'another gateway keeps the views now, and goes on with it' };
    const comparison = comparisonOf(built, finished);
    return { state: finished.isReplaced ? 'replaced' : 'different', comparison };
  };
  const done = (async () => {
    try {
      state = await work();
      logger.info({ ...state }, 'the views were built again');
    } catch (error) {
      state = { state: 'failed', why: error instanceof Error ? error.message : String(error) };
      if (!stop.signal.aborted)
        logger.error({ err: error }, 'the views could not be built again; what was built is kept');
    }
    isOver = true;
  })();
  return {
    state: () => (isOver ? state : { ...state, seconds: (clock() - began) / 1_000 }),
    isOver: () => isOver,
    stop: async () => {
      stop.abort();
      await done;
    },
  };
};

const comparisonOf = (
  { digests }: Built,
  {
    comparedAtEnd,
    differences,
  }: { readonly comparedAtEnd: number; readonly differences: readonly Difference[] },
): RebuildComparison => ({
  sequence: digests?.sequence ?? 0,
  runs: digests?.runs ?? 0,
  live_sha256: digests?.live ?? '',
  new_sha256: digests?.next ?? '',
  compared_at_end: comparedAtEnd,
  differences: differences.length,
  examples: differences.slice(0, EXAMPLES),
});
