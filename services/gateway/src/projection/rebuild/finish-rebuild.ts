import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { readPages } from '@runledger/event-log/read/read-pages';
import { sleep } from '@runledger/resilience/abort';
import { runsIn } from '../core/project-runs.ts';
import type { ProjectionPosition } from '../core/projection-start.ts';
import { runName } from '../core/run-name.ts';
import { ViewsReplaced } from '../position-watch.ts';
import type { RunProjection } from '../run-projection.ts';
import type { ViewStore } from '../run-views.ts';
import { foldInto } from './build-views.ts';
import { compareAtEnd, type Keeping } from './compare-again.ts';
import { noDifferences, type Difference } from './differences.ts';
import type { Built } from './worker-messages.ts';

export interface FinishOptions extends Keeping {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly views: ViewStore;
  readonly projection: Pick<RunProjection, 'between' | 'position'>;
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
export const finishRebuild = async (options: FinishOptions, built: Built): Promise<Finished | undefined> => {
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
