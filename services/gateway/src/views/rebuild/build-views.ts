import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { readPages } from '@runledger/event-log/read/read-pages';
import { isDeleted } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { lastOfRun } from '@runledger/event-log/read/read-run';
import { beginningOf, type ProjectionPosition } from '../projection-start.decide.ts';
import { projectBatch, readStart } from '../project-batch.ts';
import type { NextViews, RunViews } from '../run-views.ts';
import {
  inBatches,
  keyOf,
  everyView,
  hasExpired,
  VIEWS_AT_ONCE,
  compareViews,
  hasErasedMore,
  OTHER_STATE,
  type JoinedViews,
  type Differences,
} from './compare-views.decide.ts';
import { projectRuns } from '../fold-run.decide.ts';
import { runName } from '../stored-run.decide.ts';
import type { StoredView } from '../run-view.ts';

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

type CopyOptions = Pick<BuildOptions, 'live' | 'archived' | 'next' | 'signal' | 'onProgress'>;

/**
 * The views of runs whose first facts the log has lost: folded from the archive, and copied where that does not have them. What expires
 * meanwhile is copied when the sets are compared.
 */
const copyOld = async (options: CopyOptions, since: string): Promise<void> => {
  const { live, archived, next, signal, onProgress } = options;
  let copied = 0;
  const save = async (views: readonly StoredView[]): Promise<void> => {
    signal.throwIfAborted();
    await next.save(views);
    copied += views.length;
    onProgress({ step: 'copying', done: copied, of: null });
  };
  for await (const views of inBatches(viewsOfArchived(archived, since), VIEWS_AT_ONCE)) await save(views);
  for await (const views of inBatches(expiredViews(live, since), VIEWS_AT_ONCE)) {
    const there = new Set((await next.load(views.map(keyOf))).map(({ run }) => runName(run)));
    await save(views.filter(({ run }) => !there.has(runName(run))));
  }
};

async function* viewsOfArchived(
  archived: CopyOptions['archived'],
  since: string,
): AsyncGenerator<readonly StoredView[]> {
  for await (const run of archived) {
    const [first] = run.life;
    // What the log has is folded from there. Nothing is left of a deleted run that a view could be made of.
    if (!run.isErased && first !== undefined && first.time < since) yield viewsOf(run);
  }
}

/** Nothing for a run of which the archive has a part only. */
const viewsOf = ({ life, webhook }: ArchivedRun): readonly StoredView[] => {
  const messages = [...life, ...webhook].toSorted((a, b) => a.sequence - b.sequence);
  const projected = projectRuns([], messages);
  return projected.kind === 'projected' && projected.gaps.length === 0 ? projected.views : [];
};

async function* expiredViews(
  live: CopyOptions['live'],
  since: string,
): AsyncGenerator<readonly StoredView[]> {
  for await (const view of everyView(live)) if (hasExpired(view, since)) yield [view];
}

/** How long runs are kept. */
export interface Keeping {
  /** Runs of the organisation that were created before are not kept: milliseconds since 1970. */
  readonly keptSince: (org_id: string) => Promise<number>;
}

interface Compared {
  readonly log: EventLog;
  readonly live: ComparedSet;
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
