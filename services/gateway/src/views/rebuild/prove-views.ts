import { createHash } from 'node:crypto';
import { isDeleted } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { RunId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { lastOfRun } from '@runledger/event-log/read/read-run';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import type { ProjectionPosition } from '../projection-start.decide.ts';
import { upTo } from '../run-view.ts';
import type { ComparedViews, NextViews } from '../run-views.ts';
import { runName } from '../stored-run.decide.ts';
import { everyView, VIEWS_AT_ONCE } from '../scan-list.ts';
import { foldUpToNow, type Build } from './build-views.ts';
import {
  compareViews,
  hasErasedMore,
  hasExpired,
  keyOf,
  joinViews,
  type JoinedViews,
} from './compare-views.decide.ts';

interface Digests {
  /** They speak of all runs of which nothing was stored behind this sequence. */
  readonly sequence: number;
  readonly runs: number;
  /** SHA-256 over the ids, heads and states of these runs, in the order of their ids. */
  readonly live: string;
  readonly next: string;
}

/** Runs, each once. */
export type Keys = ReadonlyMap<string, RunKey>;

/** Why the views of runs differ: the next set has what follows from the facts. */
export type Differences = ReadonlyMap<RunId, string>;

/** A set that was built. */
export interface Proved {
  readonly at: ProjectionPosition;
  /** Undefined for one that was not compared. */
  readonly digests: Digests | undefined;
  /** Runs that went on meanwhile: they are compared once more when both sets stand still. */
  readonly moved: Keys;
  readonly differences: Differences;
}

/** A set that is being built, and the one whose place it takes. */
interface Compared {
  readonly log: EventLog;
  readonly live: ComparedViews;
  readonly next: NextViews;
}

/** So many are compared in a moment. */
const FEW = 200;
const ROUNDS = 20;

/**
 * Compares all runs of both sets, and folds on. A run that is not equally far in both is compared again, in rounds, which become
 * shorter.
 */
export const proveViews = async (build: Build, from: ProjectionPosition): Promise<Proved> => {
  const differences = new Map<RunId, string>();
  const hashes = { live: createHash('sha256'), next: createHash('sha256') };
  let runs = 0;
  let moved: Keys = await compare(build, pairsOfAll(build), differences, from.sequence, (same) => {
    runs += 1;
    hashes.live.update(same.live);
    hashes.next.update(same.next);
  });
  const digests = {
    sequence: from.sequence,
    runs,
    live: hashes.live.digest('hex'),
    next: hashes.next.digest('hex'),
  };
  let at = from;
  for (let round = 0; round < ROUNDS && moved.size > FEW; round += 1) {
    const changed = new Map<string, RunKey>();
    at = await foldUpToNow(build, at, (keys) => keys.forEach((key) => changed.set(runName(key), key)));
    moved = new Map([...changed, ...(await compareAgain(build, moved, differences))]);
  }
  return { at, digests, moved, differences };
};

/** Both sets stand still, at the same position: what is not equal now differs. A run whose time was over meanwhile goes from the next set too. */
export const compareAtEnd = async (
  compared: Compared & Keeping,
  keys: Keys,
  known: Differences,
): Promise<Differences> => {
  const { live, next } = compared;
  const differences = new Map(known);
  for (const key of (await compareAgain(compared, keys, differences)).values()) {
    const [[ofLive], [ofNext]] = [await live.load([key]), await next.load([key])];
    if (ofLive && ofNext) differ(differences, key, 'its live view has other facts than the log');
    else if (ofLive) differ(differences, key, 'the log has no such run that a view could be made of');
    else if (ofNext && (await isOver(compared, ofNext.run))) await next.remove([ofNext]);
    else if (ofNext) differ(differences, key, 'the live set has no view of it');
  }
  return differences;
};

/** How long runs are kept. */
export interface Keeping {
  /** Runs of the organisation that were created before are not kept: milliseconds since 1970. */
  readonly retentionCutoff: (org_id: string) => Promise<number>;
}

/** Retention has removed it from the live set, or all of a deleted run was erased. */
const isOver = async (
  { log, retentionCutoff }: Compared & Keeping,
  run: Parameters<typeof isDeleted>[0],
): Promise<boolean> =>
  (isDeleted(run) || Date.parse(run.created_at) < (await retentionCutoff(run.org_id))) &&
  (await lastOfRun(log, run)) === 0;

const compareAgain = async (
  compared: Compared,
  keys: Keys,
  differences: Map<RunId, string>,
): Promise<Keys> => {
  const all = [...keys.values()];
  let moved: Keys = new Map();
  for (let at = 0; at < all.length; at += VIEWS_AT_ONCE) {
    const pairs = pairsOf(compared, all.slice(at, at + VIEWS_AT_ONCE));
    moved = new Map([...moved, ...(await compare(compared, pairs, differences))]);
  }
  return moved;
};

/** Beyond so many, a set is no longer like the other one at all. */
const MAX_DIFFERENCES = 100_000;

const differ = (differences: Map<RunId, string>, { run_id }: RunKey, why: string): void => {
  if (differences.size < MAX_DIFFERENCES) differences.set(run_id, why);
};

/**
 * Compares the views of some runs. Resolves with those that are not equally far in both sets, are in one of them only, or have something
 * behind a sequence; `onSame` gets the texts of the others. A run that the log has lost before it was folded is copied, and what was erased
 * of a deleted run is in no fact, and is taken over.
 */
const compare = async (
  { log, next }: Compared,
  pairs: AsyncIterable<JoinedViews>,
  differences: Map<RunId, string>,
  sequence = Infinity,
  onSame: (same: { readonly live: string; readonly next: string }) => void = () => undefined,
): Promise<Keys> => {
  const { since } = await runsIdentity(log);
  const moved = new Map<string, RunKey>();
  for await (const pair of pairs) {
    const view = pair.live ?? pair.next;
    if (!view) continue;
    const key = keyOf(view);
    const result = compareViews(pair);
    if (!pair.next && hasExpired(view, since)) await next.save([view]);
    else if (result.kind === 'moved' || upTo(view) > sequence) moved.set(runName(key), key);
    else {
      onSame(result);
      if (result.live !== result.next)
        differ(differences, key, 'its live view says something else than its facts');
      else if (pair.live && pair.next && hasErasedMore(pair.live, pair.next)) await next.save([pair.live]);
    }
  }
  return moved;
};

async function* pairsOfAll({ live, next, signal, onProgress }: Build): AsyncGenerator<JoinedViews> {
  let done = 0;
  const all = (set: ComparedViews) => everyView((query) => set.listAll(query));
  for await (const pair of joinViews(all(live), all(next))) {
    done += 1;
    if (done % VIEWS_AT_ONCE === 0) {
      signal.throwIfAborted();
      onProgress({ step: 'comparing', done, of: null });
    }
    yield pair;
  }
}

async function* pairsOf({ live, next }: Compared, keys: readonly RunKey[]): AsyncGenerator<JoinedViews> {
  const [ofLive, ofNext] = [await live.load(keys), await next.load(keys)].map(
    (views) => new Map(views.map((view) => [runName(view.run), view])),
  );
  for (const key of keys) yield { live: ofLive?.get(runName(key)), next: ofNext?.get(runName(key)) };
}
