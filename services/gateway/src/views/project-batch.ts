import { eventIdOf, type StoredMessage } from '@runledger/contracts/fold/chain';
import { isDeleted, type RunState } from '@runledger/contracts/fold/run';
import { countRuns } from '@runledger/contracts/fold/log-capacity';
import { matchesAny, ALL_LIFECYCLES, ALL_WEBHOOKS, type RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import { NewerVersion } from '@runledger/event-log/follow/follow';
import { settled } from '@runledger/event-log/read/leader-read';
import { runsIdentity, type RunsIdentity } from '@runledger/event-log/read/stream-identity';
import { readStored } from '@runledger/event-log/read/run-messages';
import { foldedOf, projectRuns, runsIn, type Gap, type RefusedFact } from './fold-run.decide.ts';
import {
  beginningOf,
  hasMissed,
  withMissed,
  withUnread,
  projectionStart,
  type ProjectionPosition,
  type ProjectionStart,
} from './projection-start.decide.ts';
import { isSameRun, type StoredView } from './run-view.ts';
import { ViewsReplaced } from './position-watch.ts';
import type { FoldedViews } from './run-views.ts';
import type { RefusedMessage } from '@runledger/contracts/fold/read-chain';
import { head, readRun, type ReadRun } from '@runledger/event-log/read/read-run';

/** What is folded from where, and into what. */
export interface Projecting {
  readonly log: EventLog;
  readonly views: FoldedViews;
  readonly logger: Logger;
}

export interface BeginProjecting extends Projecting {
  /** Whether the archive may have runs that views which begin so lack for ever if they read the log alone. Without an archive it has none. */
  readonly archiveHasMore?: (start: ProjectionStart['kind']) => Promise<boolean>;
}

interface BatchProjecting extends Projecting {
  /** A fact that is part of no run. */
  readonly onRefused: (refused: RefusedFact) => Promise<void>;
}

const FACTS = [ALL_LIFECYCLES, ALL_WEBHOOKS];

/**
 * The next position. The views go first: after a crash in between, the same facts change nothing. The position is compared after they
 * were loaded and before one is stored: views that went back in between lack facts that another gateway may be folding. A webhook fact,
 * folded into such a view, would make one that is ahead in one chain and behind in the other, and the view of that gateway, behind in
 * the first, would be refused as stale.
 */
export const projectBatch = async (
  options: BatchProjecting,
  from: ProjectionPosition,
  messages: readonly StoredMessage[],
): Promise<ProjectionPosition> => {
  const { views } = options;
  const facts = messages.filter(({ subject }) => matchesAny(FACTS, subject));
  // What a view shows, a read of the log has to show too.
  await settled(options.log, messages.at(-1)?.sequence ?? 0);
  const present = await views.load(runsIn(facts));
  const projected = projectRuns(present, facts);
  if (projected.kind === 'newer_version') throw new NewerVersion(projected);
  for (const refused of projected.refused) await options.onRefused(refused);
  const read: StoredView[] = [];
  for (const gap of projected.gaps) {
    const view = present.find((one) => isSameRun(one, gap.key));
    read.push(...(await closeGap(options, gap, view)));
  }
  const last = messages.at(-1);
  if (!last) return from;
  const counts = messages.reduce(countRuns, from.counts);
  const to = { ...from, sequence: last.sequence, event_id: eventIdOf(last), counts };
  if (await views.advance([...projected.views, ...read], from, to)) return to;
  throw new ViewsReplaced(`the views are not at ${from.sequence}, which was written last`);
};

const closeGap = async (
  options: BatchProjecting,
  { key, message }: Gap,
  present: StoredView | undefined,
): Promise<StoredView[]> => {
  const { log, logger } = options;
  const read = await readView(log, key, message.sequence);
  switch (read.kind) {
    case 'whole':
      return [read.view];
    case 'webhook_damaged':
      // Of a deleted run they say nothing more, and their beginning may have expired.
      if (!isDeleted(read.run))
        await options.onRefused({ message, why: 'the webhook facts of its run contradict each other' });
      return [{ head: read.head, run: read.run, webhook: foldedOf(present).webhook }];
    case 'none':
      return [];
    case 'newer_version':
      throw new NewerVersion(read);
    case 'damaged': {
      const { firstSequence } = await runsIdentity(log);
      // A run whose beginning has expired: its view, if there is one, stays as it is.
      if (read.expected < firstSequence) {
        logger.debug({ run_id: key.run_id, why: read.why }, 'the beginning of a run has expired');
        return [];
      }
      await options.onRefused({ message, why: read.why });
      return [];
    }
  }
};

/**
 * The position to go on from, after a reset of views that must be derived again. `known` is the latest that this process has seen.
 * @throws {LogUnavailable} @throws {ViewsUnavailable}
 */
export const beginProjection = async (
  { log, views, logger, archiveHasMore = async () => false }: BeginProjecting,
  known: ProjectionPosition | undefined,
): Promise<ProjectionPosition> => {
  const position = await views.position();
  const { identity, start } = await readStart(log, position, known);
  const isUnread = await archiveHasMore(start.kind);
  switch (start.kind) {
    case 'continue': {
      const at = await goPastMissed({ log, views, logger }, position ?? start.from, identity);
      if (!isUnread) return at;
      const { created } = identity;
      logger.warn({ created }, 'the log was restored: the archive is read for runs that the run views lack');
      return moveTo(views, at, withUnread(at, identity));
    }
    case 'start_again':
      // This is normal at the first start.
      logger[position ? 'warn' : 'info'](
        { because: start.because },
        'the run views are derived again from the log',
      );
      const derivation = Math.max(position?.derivation ?? 0, known?.derivation ?? 0) + 1;
      const first = withMissed(beginningOf(identity, derivation), identity);
      const beginning = isUnread ? withUnread(first, identity) : first;
      await views.resetTo(beginning);
      return beginning;
  }
};

/**
 * The position behind what the log has lost before the views had it. From then on it is known that they lack it, until it is recovered.
 * @throws {ViewsUnavailable} @throws {ViewsReplaced}
 */
export const goPastMissed = async (
  { views, logger }: Projecting,
  at: ProjectionPosition,
  identity: RunsIdentity,
): Promise<ProjectionPosition> => {
  if (!hasMissed(at, identity)) return at;
  const to = await moveTo(views, at, withMissed(at, identity));
  const { missed } = to;
  logger.warn({ missed }, 'facts left the log before the run views had them; the archive is read for them');
  return to;
};

const moveTo = async (
  views: FoldedViews,
  at: ProjectionPosition,
  to: ProjectionPosition,
): Promise<ProjectionPosition> => {
  if (await views.advance([], at, to)) return to;
  throw new ViewsReplaced(`the views are not at ${at.sequence}, which was written last`);
};

/** Where to begin, by the log as it is now. @throws {LogUnavailable} */
export const readStart = async (
  log: EventLog,
  position: ProjectionPosition | undefined,
  known: ProjectionPosition | undefined,
): Promise<{ readonly identity: RunsIdentity; readonly start: ProjectionStart }> => {
  const identity = await runsIdentity(log, position?.sequence);
  const isInLog =
    position !== undefined && position.sequence > 0 && position.sequence <= identity.lastSequence;
  const last = isInLog ? await readStored(log, position.sequence) : undefined;
  return { identity, start: projectionStart({ position, known, last }, identity) };
};

type ReadView =
  | { readonly kind: 'whole'; readonly view: StoredView; readonly refused: readonly RefusedMessage[] }
  /** The run is known, but not the state of its notifications. */
  | { readonly kind: 'webhook_damaged'; readonly head: number; readonly run: RunState }
  | Exclude<ReadRun, { kind: 'found' | 'deleted' }>;

const MAX_READS = 5;

/**
 * The view of a run, read from the log with everything up to `atLeast`. The two chains are read one after the other, so
 * the first may have grown meanwhile. Then both are read again.
 * @throws {LogUnavailable}
 */
export const readView = async (log: EventLog, key: RunKey, atLeast: number): Promise<ReadView> => {
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const read = await readRun(log, key, { atLeast });
    if (read.kind !== 'found' && read.kind !== 'deleted') return read;
    const { run, history, webhook, refused } = read;
    if (!webhook) return { kind: 'webhook_damaged', head: history.head, run };
    if (webhook.head < history.head || (await head(log, key)) === history.head) {
      return { kind: 'whole', view: { head: history.head, run, webhook }, refused };
    }
  }
  throw new Error(`Run ${key.run_id} changed again and again while it was read`);
};
