import type {
  RebuildViewsRequest,
  RebuildComparison,
  RebuildViewsResponse,
} from '@runledger/contracts/requests/operator-requests';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { respondToRebuilds } from '@runledger/request-reply/rebuild-views';
import { within } from '@runledger/resilience/within';
import pLimit from 'p-limit';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import { readPages } from '@runledger/event-log/read/read-pages';
import { sleep } from '@runledger/resilience/abort';
import { beginningOf, type ProjectionPosition } from '../projection-start.decide.ts';
import { ViewsUnavailable, type ViewStore } from '../run-views.ts';
import type { RunProjection } from '../run-projection.ts';
import { buildInThread, type ThreadOptions } from './build-in-thread.ts';
import { noDifferences, type Difference } from './compare-views.decide.ts';
import { foldInto, compareAtEnd, type ArchivedRun, type Keeping } from './build-views.ts';
import type { Built } from './worker-messages.ts';
import { runsIn } from '../fold-run.decide.ts';
import { runName } from '../stored-run.decide.ts';
import { ViewsReplaced } from '../position-watch.ts';
import type { BuildSettings } from './worker-messages.ts';

const STOP_WITHIN_MS = 2_000;

export interface Rebuilds extends AsyncDisposable {
  /** Looks for views that were being built, and goes on with them. */
  readonly resume: () => Promise<void>;
}

/**
 * Builds the views again when somebody requests it: a next set, from the log, beside the live one. What a kill interrupted is in the
 * store of the views, and whoever keeps the views goes on with it.
 */
export const openRebuilds = (options: RebuildOptions): Rebuilds => {
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
const beginAnew = async ({ log, views }: RebuildOptions): Promise<void> => {
  await views.next.remove();
  await using next = await views.next.open();
  const { derivation = 0 } = (await views.position()) ?? {};
  await next.resetTo(beginningOf(await runsIdentity(log), derivation + 1));
};

export interface RebuildOptions extends Keeping {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly views: ViewStore;
  readonly projection: RunProjection;
  /** What the archive has of the present log behind a sequence. */
  readonly archived: (behind: number) => AsyncIterable<ArchivedRun>;
  /** What the thread begins with, besides. */
  readonly order: BuildSettings;
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

const EXAMPLES = 20;

/** Builds the next set, or goes on with it, compares it, and puts it in place unless it differs. Whatever fails is in its state. */
const runRebuild = (options: RebuildOptions, acceptsDifferences: boolean): RunningRebuild => {
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

interface FinishOptions extends Keeping {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly views: ViewStore;
  readonly projection: RunProjection;
  readonly acceptsDifferences: boolean;
  readonly signal: AbortSignal;
}

interface Finished {
  readonly isReplaced: boolean;
  readonly comparedAtEnd: number;
  readonly differences: readonly Difference[];
}

const CATCH_UP_LOOK_MS = 20;

/**
 * Stops the projection between two batches, folds the last facts into the next set, compares what is left, and puts it in the place of the
 * live one. Undefined when this gateway does not keep the views any more. Requests are answered meanwhile.
 * @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {ViewsReplaced}
 */
const finishRebuild = async (options: FinishOptions, built: Built): Promise<Finished | undefined> => {
  const { projection, views, signal } = options;
  // The thread may have read what the projection still has to read.
  while (!signal.aborted && (projection.position() ?? Infinity) < built.at.sequence)
    await sleep(CATCH_UP_LOOK_MS, signal);
  let finished: Finished | undefined;
  await projection.between(async (at) => {
    signal.throwIfAborted();
    const compared = await bringTo(options, at, built);
    const isReplaced = compared.differences.length === 0 || options.acceptsDifferences;
    const to = { ...at, derivation: at.derivation + 1 };
    if (isReplaced && !(await views.next.replaceLive(at, to)))
      throw new ViewsReplaced('the live views were replaced or emptied meanwhile');
    finished = { ...compared, isReplaced };
    return isReplaced ? to : undefined;
  });
  return finished;
};

/** The next set is as far as the live one afterwards, and compared with it. */
const bringTo = async (
  { log, logger, views, keptSince }: FinishOptions,
  at: ProjectionPosition,
  built: Built,
): Promise<Omit<Finished, 'isReplaced'>> => {
  await using next = await views.next.open();
  let position = (await next.position()) ?? built.at;
  const moved = new Map(built.moved.map((key) => [runName(key), key]));
  const missing = { from: position.sequence + 1, upTo: at.sequence };
  if (position.sequence < at.sequence)
    for await (const messages of readPages(log, 'RUNS', missing)) {
      position = await foldInto({ log, next, logger }, position, messages);
      for (const key of runsIn(messages)) moved.set(runName(key), key);
    }
  const differences = noDifferences(built.differences);
  await compareAtEnd({ log, live: views, next, keptSince }, [...moved.values()], differences);
  return { comparedAtEnd: moved.size, differences: differences.all() };
};
