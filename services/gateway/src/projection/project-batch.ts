import { eventIdOf, type StoredMessage } from '@runledger/contracts/fold/chain';
import { isDeleted } from '@runledger/contracts/fold/run';
import { countRuns } from '@runledger/contracts/room/run-counts';
import { matchesAny } from '@runledger/contracts/subjects/matches-filter';
import { ALL_LIFECYCLES, ALL_WEBHOOKS } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { NewerVersion } from '@runledger/event-log/follow/follow';
import { settled } from '@runledger/event-log/messages/leader-state';
import { runsIdentity } from '@runledger/event-log/messages/stream-identity';
import { foldedOf } from './core/fold-run.ts';
import { projectRuns, runsIn, type Gap, type RefusedFact } from './core/project-runs.ts';
import type { ProjectionPosition } from './core/projection-start.ts';
import { isSameRun, type StoredView } from './core/run-view.ts';
import { ViewsReplaced } from './position-watch.ts';
import { readView } from './read-view.ts';
import type { RunViews } from './run-views.ts';

export interface BatchOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'load' | 'advance'>;
  readonly logger: Logger;
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
  options: BatchOptions,
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
  options: BatchOptions,
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
