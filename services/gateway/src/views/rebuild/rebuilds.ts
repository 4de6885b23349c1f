import type { RunKey } from '@runledger/contracts/events/subjects';
import type {
  RebuildViewsRequest,
  RebuildComparison,
  RebuildViewsResponse,
} from '@runledger/contracts/requests/operator-requests';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { respondToRebuilds } from '@runledger/request-reply/rebuild-views';
import { within } from '@runledger/resilience/within';
import pLimit from 'p-limit';
import { sleep } from '@runledger/resilience/abort';
import { messageOf } from '@runledger/resilience/errors';
import { beginningOf, lacksOf, type ProjectionPosition } from '../projection-start.decide.ts';
import { ViewsUnavailable } from '../run-views.ts';
import type { RunProjection } from '../run-projection.ts';
import { buildInThread } from './build-thread.ts';
import { foldUpTo, type BuildProgress } from './build-views.ts';
import { compareAtEnd, type Keeping, type Proved } from './prove-views.ts';
import type { ViewSources } from './first-views.ts';
import { runName } from '../stored-run.decide.ts';
import { ViewsReplaced } from '../position-watch.ts';

const STOP_WITHIN_MS = 2_000;

export interface Rebuilds extends AsyncDisposable {
  /** Looks for views that were being built, and goes on with them. */
  readonly resume: () => Promise<void>;
}

/**
 * Builds the views again when somebody requests it: a next set, from the log, beside the live one. What a kill interrupted is in the
 * store of the views, and whoever keeps the views goes on with it.
 */
export const openRebuilds = (options: RebuildSources): Rebuilds => {
  const { log, views, projection } = options;
  let last: RunningRebuild | undefined;
  // Only one decides at a time what becomes of the next set.
  const inTurn = pLimit(1);

  const isUnderWay = (): boolean => last !== undefined && !last.isOver();
  const waits = (): boolean => last?.state().state === 'different';
  const take = async ({
    action,
    accept_differences: accepts = false,
  }: RebuildViewsRequest): Promise<void> => {
    if (action === 'stop') {
      await last?.stop();
      last = undefined;
      await views.next.remove();
    } else if (action === 'start' && !isUnderWay()) {
      if (!(accepts && waits())) await beginAnew(options);
      last = runRebuild(options, accepts);
    }
  };
  const answer = async (request: RebuildViewsRequest): Promise<RebuildState> => {
    try {
      await inTurn(() => take(request));
      return last?.state() ?? { state: 'none' };
    } catch (error) {
      if (error instanceof ViewsUnavailable) return { state: 'failed', why: error.message };
      throw error;
    }
  };
  const responding = respondToRebuilds(log, async (request) => {
    if (projection.position() === undefined) return undefined;
    const state = await answer(request);
    return { ...state, derivation: projection.seenPosition()?.derivation ?? 0 };
  });
  return {
    resume: () =>
      inTurn(async () => {
        if (!isUnderWay() && !waits() && (await views.next.exists())) last = runRebuild(options, false);
      }),
    [Symbol.asyncDispose]: async () => {
      responding[Symbol.dispose]();
      await within(STOP_WITHIN_MS, last?.stop() ?? Promise.resolve(), () => undefined);
    },
  };
};

/** An empty next set, also where an earlier one waits. */
const beginAnew = async ({ log, views }: RebuildSources): Promise<void> => {
  await views.next.remove();
  await using next = await views.next.open();
  const { derivation = 0 } = (await views.position()) ?? {};
  await next.resetTo(beginningOf(await runsIdentity(log), derivation + 1));
};

export interface RebuildSources extends ViewSources, Keeping {
  readonly projection: RunProjection;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** How far a rebuild is, or how the last one ended. */
type RebuildState = Omit<RebuildViewsResponse, 'derivation'>;

interface RunningRebuild {
  readonly state: () => RebuildState;
  readonly isOver: () => boolean;
  /** Resolves when nothing of it is under way. What was built stays. */
  readonly stop: () => Promise<void>;
}

const ENDS: ReadonlySet<RebuildState['state']> = new Set(['replaced', 'different', 'failed']);
const EXAMPLES = 20;

/** Builds the next set, or goes on with it, compares it, and puts it in place unless it differs. Whatever fails is in its state. */
const runRebuild = (options: RebuildSources, acceptsDifferences: boolean): RunningRebuild => {
  const { views, logger, clock } = options;
  const stop = new AbortController();
  const began = clock();
  const isOver = (): boolean => ENDS.has(state.state);
  let state: RebuildState = { state: 'copying', done: 0 };
  const onProgress = ({ step, done, of }: BuildProgress): void => {
    state = { state: step, done, ...(of === null ? {} : { of }) };
  };
  const work = async (): Promise<RebuildState> => {
    const { derivation = 0 } = (await views.position()) ?? {};
    const order = { ...options.order, derivation: derivation + 1, isCompared: true };
    // Its view is copied.
    const isKnown = async (key: RunKey): Promise<boolean> => {
      const [view, at] = [await views.find(key), await views.position()];
      return view !== undefined && at !== undefined && !lacksOf(at, key.org_id);
    };
    const from = { live: views, archived: options.archived(isKnown) };
    const built = await buildInThread(order, from, stop.signal, onProgress);
    state = { state: 'finishing' };
    const finished = await finishRebuild(options, built, acceptsDifferences, stop.signal);
    if (!finished)
      return { state: 'failed', why: 'another gateway keeps the views now, and goes on with it' };
    return { state: finished.isReplaced ? 'replaced' : 'different', comparison: finished.comparison };
  };
  const done = (async () => {
    try {
      state = await work();
      logger.info({ ...state }, 'the views were built again');
    } catch (error) {
      state = { state: 'failed', why: messageOf(error) };
      if (!stop.signal.aborted)
        logger.error({ err: error }, 'the views could not be built again; what was built is kept');
    }
  })();
  return {
    state: () => (isOver() ? state : { ...state, seconds: (clock() - began) / 1_000 }),
    isOver,
    stop: async () => {
      stop.abort();
      await done;
    },
  };
};

interface Finished {
  readonly comparison: RebuildComparison;
  readonly isReplaced: boolean;
}

const CATCH_UP_LOOK_MS = 20;

/**
 * Stops the projection between two batches, folds the last facts into the next set, compares what is left, and puts it in the place of the
 * live one. Undefined when this gateway does not keep the views any more. Requests are answered meanwhile.
 * @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {ViewsReplaced}
 */
const finishRebuild = async (
  options: RebuildSources,
  built: Proved,
  acceptsDifferences: boolean,
  signal: AbortSignal,
): Promise<Finished | undefined> => {
  const { projection, views } = options;
  // The thread may have read what the projection still has to read.
  while (!signal.aborted && (projection.position() ?? Infinity) < built.at.sequence)
    await sleep(CATCH_UP_LOOK_MS, signal);
  let finished: Finished | undefined;
  await projection.between(async (at) => {
    signal.throwIfAborted();
    const comparison = await bringTo(options, at, built, signal);
    const isReplaced = comparison.differences === 0 || acceptsDifferences;
    const to = { ...at, derivation: at.derivation + 1 };
    if (isReplaced && !(await views.next.replaceLive(at, to)))
      throw new ViewsReplaced('the live views were replaced or emptied meanwhile');
    finished = { comparison, isReplaced };
    return isReplaced ? to : undefined;
  });
  return finished;
};

/** The next set is as far as the live one afterwards, and compared with it. */
const bringTo = async (
  { log, logger, views, retentionCutoff }: RebuildSources,
  at: ProjectionPosition,
  { at: builtTo, moved, digests, differences: known }: Proved,
  signal: AbortSignal,
): Promise<RebuildComparison> => {
  await using next = await views.next.open();
  const position = (await next.position()) ?? builtTo;
  const keys = new Map(moved);
  const folding = { log, logger, next, signal, onProgress: () => undefined };
  await foldUpTo(folding, position, at.sequence, (changed) =>
    changed.forEach((key) => keys.set(runName(key), key)),
  );
  const differences = await compareAtEnd({ log, live: views, next, retentionCutoff }, keys, known);
  return {
    sequence: digests?.sequence ?? 0,
    runs: digests?.runs ?? 0,
    live_sha256: digests?.live ?? '',
    new_sha256: digests?.next ?? '',
    compared_at_end: keys.size,
    differences: differences.size,
    examples: [...differences].slice(0, EXAMPLES).map(([run_id, why]) => ({ run_id, why })),
  };
};
