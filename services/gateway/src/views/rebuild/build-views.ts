import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { readPages } from '@runledger/event-log/read/read-pages';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { beginningOf, type ProjectionPosition } from '../projection-start.decide.ts';
import { projectBatch, readStart } from '../project-batch.ts';
import type { AllViews, ComparedViews, NextViews } from '../run-views.ts';
import { everyView, VIEWS_AT_ONCE } from '../scan-list.ts';
import { inBatches, keyOf, hasExpired } from './compare-views.decide.ts';
import { inOrder, runsIn, viewAfter } from '../fold-run.decide.ts';
import { runName } from '../stored-run.decide.ts';
import type { StoredView } from '../run-view.ts';

/** A set into which the log is folded. */
export interface Folding {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly next: NextViews;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BuildProgress) => void;
}

export interface Build extends Folding {
  /** The set whose place it takes. */
  readonly live: ComparedViews;
  /** All runs that the archive has of this log. */
  readonly archived: AsyncIterable<MessagesOfRun>;
  /** Of the next set. */
  readonly derivation: number;
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
export const buildViews = async (build: Build): Promise<ProjectionPosition> => {
  return foldUpToNow(build, await begin(build));
};

const begin = async (build: Build): Promise<ProjectionPosition> => {
  const { log, next, derivation } = build;
  const present = await next.position();
  const { identity, start } = await readStart(log, present, undefined);
  const isBegun = start.kind === 'continue' && start.from.derivation === derivation;
  // What the log has lost since then is in the archive, and in the live set.
  if (isBegun && start.from.sequence > 0 && start.from === present) return present;
  const beginning = beginningOf(identity, derivation);
  await next.resetTo(beginning);
  await copyOld(build, identity.since);
  return beginning;
};

/** Folds what the next set does not have yet. */
export const foldUpToNow = async (
  folding: Folding,
  from: ProjectionPosition,
  onRuns?: (keys: readonly RunKey[]) => void,
): Promise<ProjectionPosition> => {
  let at = from;
  for (let left = 0; ; left = NEARLY) {
    const { lastSequence: end } = await runsIdentity(folding.log, at.sequence);
    if (end - at.sequence <= left) return at;
    at = await foldUpTo(folding, at, end, onRuns);
  }
};

/** Folds the log up to a sequence into the next set. What is part of no run, the live projection has reported already. */
export const foldUpTo = async (
  { log, logger, next, signal, onProgress }: Folding,
  from: ProjectionPosition,
  end: number,
  onRuns: (keys: readonly RunKey[]) => void = () => undefined,
): Promise<ProjectionPosition> => {
  let at = from;
  if (at.sequence >= end) return at;
  const pages = readPages(log, 'RUNS', { from: at.sequence + 1, upTo: end });
  for await (const messages of inBatches(pages, MESSAGES_AT_ONCE)) {
    signal.throwIfAborted();
    at = await projectBatch({ log, logger, views: next, onRefused: async () => undefined }, at, messages);
    onRuns(runsIn(messages));
    onProgress({ step: 'folding', done: at.sequence, of: end });
  }
  return at;
};

/**
 * The views of runs whose first facts the log has lost: folded from the archive, and copied where that does not have them. What expires
 * meanwhile is copied when the sets are compared.
 */
const copyOld = async (build: Build, since: string): Promise<void> => {
  const { live, archived, next, signal, onProgress } = build;
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
  archived: Build['archived'],
  since: string,
): AsyncGenerator<readonly StoredView[]> {
  for await (const { life, webhook } of archived) {
    const [first] = life;
    // What the log has is folded from there.
    if (first === undefined || first.time >= since) continue;
    // Undefined for a run of which the archive has a part only.
    const view = viewAfter(undefined, inOrder([...life, ...webhook]));
    if (view) yield [view];
  }
}

async function* expiredViews(live: AllViews, since: string): AsyncGenerator<readonly StoredView[]> {
  for await (const view of everyView((query) => live.listAll(query)))
    if (hasExpired(view, since)) yield [view];
}
