import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { runsIdentity, type RunsIdentity } from '@runledger/event-log/messages/stream-identity';
import { readPages } from '@runledger/event-log/read/read-pages';
import { beginningOf, type ProjectionPosition } from '../core/projection-start.ts';
import type { StoredView } from '../core/run-view.ts';
import { projectBatch } from '../project-batch.ts';
import { readStart } from '../read-start.ts';
import type { NextViews, RunViews } from '../run-views.ts';

/** What is read of the live set meanwhile. */
export type ComparedSet = Pick<RunViews, 'listAll' | 'load'>;

export interface BuildOptions {
  readonly log: EventLog;
  readonly logger: Logger;
  /** The set whose place the next one takes. Of runs that the log has lost, its views are copied. */
  readonly live: ComparedSet;
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

/** A page of views takes a process some milliseconds. */
export const VIEWS_AT_ONCE = 500;
const MESSAGES_AT_ONCE = 1_024;
/** So many that came meanwhile are left to who has the live set: they are folded while it stands still. */
const NEARLY = 500;

/** All of a set, in the order of run ids. */
export async function* everyView(set: Pick<RunViews, 'listAll'>): AsyncGenerator<StoredView> {
  for (let after = ''; ;) {
    const views = await set.listAll({ after, limit: VIEWS_AT_ONCE });
    yield* views;
    const last = views.at(-1);
    if (!last) return;
    after = last.run.run_id;
  }
}

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
  if (isBegun && start.from.sequence > 0) return start.from;
  const beginning = beginningOf(identity, derivation);
  await next.resetTo(beginning);
  await copyOld({ ...options, next }, identity);
  return beginning;
};

/** The views of runs whose first facts the log has lost. What expires meanwhile is copied when the sets are compared. */
const copyOld = async (
  { live, next, signal, onProgress }: Pick<BuildOptions, 'live' | 'next' | 'signal' | 'onProgress'>,
  { since }: RunsIdentity,
): Promise<void> => {
  let [copied, page]: [number, StoredView[]] = [0, []];
  const write = async (): Promise<void> => {
    signal.throwIfAborted();
    await next.save(page);
    copied += page.length;
    page = [];
    onProgress({ step: 'copying', done: copied, of: null });
  };
  for await (const view of everyView(live)) {
    if (!hasExpired(view, since)) continue;
    page.push(view);
    if (page.length === VIEWS_AT_ONCE) await write();
  }
  await write();
};

/** The log has lost the first fact. */
export const hasExpired = ({ run }: StoredView, since: string): boolean => run.created_at < since;

/** Folds what the next set does not have yet. */
export const foldUpToNow = async (
  options: Omit<BuildOptions, 'live' | 'derivation'>,
  from: ProjectionPosition,
  onBatch: (messages: readonly StoredMessage[]) => void = () => undefined,
): Promise<ProjectionPosition> => {
  const { log, next, logger, signal, onProgress } = options;
  let at = from;
  for (let left = 0; ; left = NEARLY) {
    const { lastSequence: end } = await runsIdentity(log, at.sequence);
    if (end - at.sequence <= left) return at;
    const pages = readPages(log, 'RUNS', { from: at.sequence + 1, upTo: end, pace: async () => undefined });
    for await (const messages of inBatches(pages)) {
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

async function* inBatches(
  pages: AsyncIterable<readonly StoredMessage[]>,
): AsyncGenerator<readonly StoredMessage[]> {
  let batch: StoredMessage[] = [];
  for await (const page of pages) {
    batch.push(...page);
    if (batch.length < MESSAGES_AT_ONCE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
