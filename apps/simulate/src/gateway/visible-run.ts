import { isDeleted, isEnded, type RunState } from '@runledger/contracts/fold/run';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { ReadChain } from '@runledger/contracts/fold/read-chain';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { foldedOf, foldMessage } from '@runledger/gateway/views/fold-run.decide';
import { areComplete } from '@runledger/gateway/views/projection-start.decide';
import type { StoredView } from '@runledger/gateway/views/run-view';
import type { World } from '../broker/world.ts';
import { archivedRun } from './archiver.ts';

type Readable = Pick<World, 'log' | 'views' | 'archive'>;

/** As services/gateway/src/runs/facts/current-run.ts: what a client is shown of a run. Undefined for an unknown run, and for one that cannot be read now. */
export const visibleRun = (world: Readable, run_id: string): RunState | undefined => {
  const now = readNow(world, run_id);
  if (!now || !hasExpired(now) || isArchiveDown(world, run_id)) return now;
  // Former releases stored that for runs that had ended.
  const first = archivedRun(world, run_id, undefined)?.run;
  return first && isOver(first) && !hasExpired(first) ? first : now;
};

/** Where the run may be, so that nobody can say anything about it. */
export const isArchiveDown = ({ log, archive }: Pick<World, 'log' | 'archive'>, run_id: string): boolean =>
  archive?.isDown(log.orgOf(run_id)) ?? false;

const hasExpired = (run: RunState): boolean => 'end_reason' in run && run.end_reason === 'log_expired';

const readNow = (world: Readable, run_id: string): RunState | undefined => {
  const { log, views } = world;
  const view = views.find(run_id);
  const present = log.headOf(run_id);
  if (present === 0) return olderThanLog(world, run_id, view);
  if (view && view.head >= present) return view.run;
  const read = log.read(run_id);
  const rest = view && isWithoutBeginning(read) && foldRest(view, log.messagesOf(run_id));
  if (rest && rest.head >= present) return rest.run;
  return read.kind === 'whole' ? read.history.state : olderThanLog(world, run_id, view);
};

/** What came before may be in the view. */
const isWithoutBeginning = (read: ReadChain<RunEvent, RunState>): boolean =>
  read.kind === 'gap' || (read.kind === 'whole' && read.facts[0]?.event.type === 'RunExpired');

const olderThanLog = (
  world: Readable,
  run_id: string,
  view: StoredView | undefined,
): RunState | undefined => {
  if (view && areComplete(world.views.position, world.log.identity, world.log.orgOf(run_id))) return view.run;
  if (isArchiveDown(world, run_id)) return undefined;
  const read = archivedRun(world, run_id, view);
  const isLater = read && (!view || (view.head <= read.head && (isOver(read.run) || !isOver(view.run))));
  return (isLater ? read : view)?.run;
};

const isOver = (run: RunState): boolean => isDeleted(run) || isEnded(run);

/** The view, and what the log still has. Undefined when facts are missing in between. */
export const foldRest = (view: StoredView, messages: readonly StoredMessage[]): StoredView | undefined => {
  let folded = foldedOf(view);
  for (const message of messages) {
    const next = foldMessage(folded, 'lifecycle', message);
    if (next.kind === 'gap' || next.kind === 'newer_version') return undefined;
    if (next.kind !== 'known') ({ folded } = next);
  }
  const { history, webhook } = folded;
  return history.state && { head: history.head, run: history.state, webhook };
};
