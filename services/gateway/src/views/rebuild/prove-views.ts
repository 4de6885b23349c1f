import { createHash } from 'node:crypto';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { runsIn } from '../fold-run.decide.ts';
import type { ProjectionPosition } from '../projection-start.decide.ts';
import { runName } from '../stored-run.decide.ts';
import { foldUpToNow, compareAgain, takeOverErasure, type BuildOptions } from './build-views.ts';
import {
  everyView,
  VIEWS_AT_ONCE,
  compareViews,
  keyOf,
  joinViews,
  OTHER_STATE,
  type Differences,
} from './compare-views.decide.ts';

export interface Digests {
  /** They speak of all runs of which nothing was stored behind this sequence. */
  readonly sequence: number;
  readonly runs: number;
  /** SHA-256 over the ids, heads and states of these runs, in the order of their ids. */
  readonly live: string;
  readonly next: string;
}

export interface Proved {
  readonly at: ProjectionPosition;
  readonly digests: Digests;
  /** Runs that went on meanwhile: they are compared once more when both sets stand still. */
  readonly moved: readonly RunKey[];
}

/** So many are compared in a moment. */
const FEW = 200;
const ROUNDS = 20;

/**
 * Compares all runs of both sets, and folds on. A run that is not equally far in both is compared again, in rounds, which become
 * shorter. What was erased of a deleted run is in no fact, and is taken over.
 */
export const proveViews = async (
  options: BuildOptions,
  from: ProjectionPosition,
  differences: Differences,
): Promise<Proved> => {
  const compared = await compareAll(options, from.sequence, differences);
  let { moved } = compared;
  let at = from;
  for (let round = 0; round < ROUNDS && moved.size > FEW; round += 1) {
    const changed = new Map<string, RunKey>();
    at = await foldUpToNow(options, at, (messages) => {
      for (const key of runsIn(messages)) changed.set(runName(key), key);
    });
    for (const key of await compareAgain(options, [...moved.values()], differences))
      changed.set(runName(key), key);
    moved = changed;
  }
  return { at, digests: compared.digests, moved: [...moved.values()] };
};

const compareAll = async (
  { live, next, signal, onProgress }: BuildOptions,
  sequence: number,
  differences: Differences,
): Promise<{ readonly digests: Digests; readonly moved: Map<string, RunKey> }> => {
  const hashes = { live: createHash('sha256'), next: createHash('sha256') };
  const moved = new Map<string, RunKey>();
  let [runs, compared] = [0, 0];
  for await (const pair of joinViews(everyView(live), everyView(next))) {
    const view = pair.live ?? pair.next;
    if (!view) break;
    compared += 1;
    if (compared % VIEWS_AT_ONCE === 0) {
      signal.throwIfAborted();
      onProgress({ step: 'comparing', done: compared, of: null });
    }
    const result = compareViews(pair);
    if (result.kind === 'moved' || Math.max(view.head, view.webhook.head) > sequence) {
      moved.set(runName(view.run), keyOf(view));
      continue;
    }
    runs += 1;
    hashes.live.update(result.live);
    hashes.next.update(result.next);
    if (result.live !== result.next) differences.add(keyOf(view), OTHER_STATE);
    else await takeOverErasure(next, pair);
  }
  const [ofLive, ofNext] = [hashes.live.digest('hex'), hashes.next.digest('hex')];
  return { digests: { sequence, runs, live: ofLive, next: ofNext }, moved };
};
