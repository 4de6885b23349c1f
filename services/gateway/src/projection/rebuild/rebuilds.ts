import type { RebuildViewsRequest } from '@runledger/contracts/requests/rebuild-views';
import { runsIdentity } from '@runledger/event-log/messages/stream-identity';
import { respondToRebuilds } from '@runledger/request-reply/rebuild-views';
import { within } from '@runledger/resilience/within';
import pLimit from 'p-limit';
import { beginningOf } from '../core/projection-start.ts';
import { ViewsUnavailable } from '../run-views.ts';
import { whileProjecting } from '../while-projecting.ts';
import {
  runRebuild,
  type RebuildOptions,
  type RebuildState,
  type RunningRebuild,
} from './running-rebuild.ts';

const LOOK_EVERY_MS = 10_000;
const STOP_WITHIN_MS = 2_000;

/**
 * Builds the views again when somebody requests it: a next set, from the log, beside the live one. What a kill interrupted is in the
 * store of the views, and whoever keeps the views goes on with it.
 */
export const openRebuilds = (options: RebuildOptions): AsyncDisposable => {
  const { log, logger, views, projection } = options;
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
  const resuming = whileProjecting({
    failure: 'views that were being built could not be looked for',
    everyMs: LOOK_EVERY_MS,
    isProjecting: () => projection.position() !== undefined,
    logger,
    work: () =>
      inTurn(async () => {
        if (!isUnderWay() && !waits() && (await views.next.exists())) last = runRebuild(options, false);
      }),
  });
  return {
    [Symbol.asyncDispose]: async () => {
      responding[Symbol.dispose]();
      await resuming[Symbol.asyncDispose]();
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
