import { isDeleted } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { runsIdentity } from '@runledger/event-log/messages/stream-identity';
import { lastOfRun } from '@runledger/event-log/read/read-run';
import { runName } from '../core/run-name.ts';
import type { StoredView } from '../core/run-view.ts';
import type { NextViews } from '../run-views.ts';
import type { ComparedSet } from './build-views.ts';
import { hasExpired, VIEWS_AT_ONCE } from './every-view.ts';
import { compareViews, hasErasedMore } from './core/compare-views.ts';
import type { JoinedViews } from './core/join-views.ts';
import { OTHER_STATE, type Differences } from './differences.ts';

/** How long runs are kept. */
export interface Keeping {
  /** Runs of the organisation that were created before are not kept: milliseconds since 1970. */
  readonly keptSince: (org_id: string) => Promise<number>;
}

interface Compared {
  readonly log: EventLog;
  readonly live: Pick<ComparedSet, 'load'>;
  readonly next: Pick<NextViews, 'load' | 'save' | 'remove'>;
}

/**
 * Compares some runs. Resolves with those that are not equally far in both sets, or are in one of them only. A run that the log has lost
 * before it was folded is copied.
 */
export const compareAgain = async (
  { log, live, next }: Compared,
  keys: readonly RunKey[],
  differences: Differences,
): Promise<readonly RunKey[]> => {
  const moved: RunKey[] = [];
  for (let at = 0; at < keys.length; at += VIEWS_AT_ONCE) {
    const { since } = await runsIdentity(log);
    const page = keys.slice(at, at + VIEWS_AT_ONCE);
    const [ofLive, ofNext] = [byRun(await live.load(page)), byRun(await next.load(page))];
    for (const key of page) {
      const pair = { live: ofLive.get(runName(key)), next: ofNext.get(runName(key)) };
      if (!pair.live && !pair.next) continue;
      if (pair.live && !pair.next && hasExpired(pair.live, since)) {
        await next.save([pair.live]);
        continue;
      }
      const result = compareViews(pair);
      if (result.kind === 'moved') moved.push(key);
      else if (result.live !== result.next) differences.add(key, OTHER_STATE);
      else await takeOverErasure(next, pair);
    }
  }
  return moved;
};

/** Both sets stand still, at the same position: what is not equal now differs. A run whose time was over meanwhile goes from the next set too. */
export const compareAtEnd = async (
  compared: Compared & Keeping,
  keys: readonly RunKey[],
  differences: Differences,
): Promise<void> => {
  const { live, next } = compared;
  for (const key of await compareAgain(compared, keys, differences)) {
    const [[ofLive], [ofNext]] = [await live.load([key]), await next.load([key])];
    if (ofLive && ofNext) differences.add(key, 'its live view has other facts than the log');
    else if (ofLive) differences.add(key, 'the log has no such run that a view could be made of');
    else if (ofNext && (await isOver(compared, ofNext))) await next.remove([ofNext]);
    else if (ofNext) differences.add(key, 'the live set has no view of it');
  }
};

/** Retention has removed it from the live set, or all of a deleted run was erased. */
const isOver = async (
  { log, keptSince }: Pick<Compared, 'log'> & Keeping,
  { run }: StoredView,
): Promise<boolean> =>
  (isDeleted(run) || Date.parse(run.created_at) < (await keptSince(run.org_id))) &&
  (await lastOfRun(log, run)) === 0;

/** Of equal views. What was erased of a deleted run is in no fact. */
export const takeOverErasure = async (
  next: Pick<NextViews, 'save'>,
  { live, next: own }: JoinedViews,
): Promise<void> => {
  if (live && own && hasErasedMore(live, own)) await next.save([live]);
};

const byRun = (views: readonly StoredView[]): ReadonlyMap<string, StoredView> =>
  new Map(views.map((view) => [runName(view.run), view]));
