import { acceptMessage, EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import { followsEnd } from '@runledger/contracts/events/run-event';
import { isDeleted, isEnded, type Run } from '@runledger/contracts/fold/run';
import { RUN_CHAIN, type RunHistory } from '@runledger/contracts/fold/run-chain';
import {
  messageOf,
  type SliceFact,
  type SliceGap,
  type SliceHeader,
} from '@runledger/contracts/slices/slice';
import { parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import { Fleet, type FleetOfDay } from './fleet-of-day.ts';

/** What a slice of the log tells of a day. */
export interface CapturedDay {
  readonly header: SliceHeader;
  /** As they were at the end of the slice, in the order in which they were queued. */
  readonly runs: readonly Run[];
  readonly fleet: FleetOfDay;
  /** Runs that were queued before the slice begins: it has facts of them, and not their first. */
  readonly older: number;
  readonly gaps: readonly SliceGap[];
}

/** Folds the lines of a slice. A day of a million runs takes some hundred MB. @throws {Error} for a fact of a later release */
export const foldDay = async (
  lines: AsyncIterable<SliceHeader | SliceFact | SliceGap>,
): Promise<CapturedDay> => {
  const open = new Map<string, RunHistory>();
  const ended: Run[] = [];
  const older = new Set<string>();
  const gaps: SliceGap[] = [];
  const fleet = new Fleet();
  let header: SliceHeader | undefined;
  for await (const line of lines) {
    if (line.kind === 'header') header = line;
    else if (line.stream === 'DELIVERY_ATTEMPTS') continue;
    else if (line.kind === 'gap') gaps.push(line);
    else if (line.stream === 'FLEET') fleet.add(line);
    else foldRun(line, { open, ended, older });
  }
  if (!header) throw new Error('The slice has no header.');
  const unended = [...open.values()].flatMap(({ state }) => (state && !isDeleted(state) ? [state] : []));
  return {
    header,
    runs: [...ended, ...unended].toSorted((a, b) => a.number - b.number),
    fleet: fleet.until(header.to),
    older: older.size,
    gaps,
  };
};

interface FoldedRuns {
  readonly open: Map<string, RunHistory>;
  readonly ended: Run[];
  readonly older: Set<string>;
}

const foldRun = (line: SliceFact, { open, ended, older }: FoldedRuns): void => {
  const about = parseLifecycleSubject(line.subject);
  if (!about || followsEnd(about.fact)) return;
  const accepted = acceptMessage(RUN_CHAIN, open.get(about.run_id) ?? EMPTY_HISTORY, messageOf(line));
  switch (accepted.kind) {
    case 'accepted':
      if (isDeleted(accepted.state) || !isEnded(accepted.state)) open.set(about.run_id, accepted.history);
      else {
        open.delete(about.run_id);
        ended.push(accepted.state);
      }
      return;
    case 'refused':
      open.set(about.run_id, accepted.history);
      return;
    case 'gap':
      older.add(about.run_id);
      return;
    case 'known':
      return;
    case 'newer_version':
      throw new Error(
        `A newer release wrote ${accepted.type} in version ${accepted.version}. Use that release of this command.`,
      );
  }
};
