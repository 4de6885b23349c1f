import type { KeptDays, Retention } from '@runledger/contracts/http/organisations';
import { isEnded, type EndedRun } from '@runledger/contracts/fold/run';
import { isUnsettled } from '@runledger/contracts/fold/webhook';
import type { LogAge } from '@runledger/event-log/read/stream-identity';
import type { StoredView, ViewOf } from '../views/run-view.ts';

/** Days that an organisation chose; null for as long as the installation keeps it. */
export interface ChosenRetention {
  readonly runs_days: number | null;
  readonly outputs_days: number | null;
}

export const NOTHING_CHOSEN: ChosenRetention = { runs_days: null, outputs_days: null };

/** Days for which the installation keeps things. Infinite for what has no age. */
export interface InstallationRetention {
  /** Facts in the log. A run is kept at least as long: else it would come back when the views are derived again. */
  readonly log: number;
  readonly runs: number;
  /** Files in the output store. */
  readonly outputs: number;
}

/** What an organisation has now. The log may keep facts for longer since it chose. */
export const retentionOf = (
  chosen: ChosenRetention,
  { log, runs, outputs }: InstallationRetention,
): Retention => {
  const least = Math.ceil(log);
  const runsDays = Math.max(Math.min(chosen.runs_days ?? runs, runs), least);
  const mostOutputs = Math.max(Math.min(Math.ceil(outputs), runsDays), 1);
  return {
    runs_days: retentionDays({ days: runsDays, chosen: chosen.runs_days, least, most: runs }),
    outputs_days: retentionDays({
      days: Math.min(chosen.outputs_days ?? mostOutputs, mostOutputs),
      chosen: chosen.outputs_days,
      least: 1,
      most: mostOutputs,
    }),
  };
};

const retentionDays = ({ days, chosen, least, most }: KeptDays): KeptDays => ({
  days: finite(days),
  chosen,
  least: finite(least),
  most: finite(most),
});

const finite = (days: number | null): number | null => (Number.isFinite(days) ? days : null);

interface RetentionProblem {
  readonly member: keyof ChosenRetention;
  readonly why: string;
}

/** Why an organisation cannot have what it requests. `chosen` has all that it would have then. */
export const retentionProblems = (
  requested: Partial<ChosenRetention>,
  chosen: ChosenRetention,
  installation: InstallationRetention,
): RetentionProblem[] => {
  const { runs_days, outputs_days } = retentionOf(chosen, installation);
  const problems: RetentionProblem[] = [];
  if (isLess(requested.runs_days, installation.log)) {
    const why = `the log has the facts of a run for ${inDays(installation.log)}, and the run is kept as long: ${
      runs_days.least === null ? 'leave it out' : `choose ${runs_days.least} or more`
    }`;
    problems.push({ member: 'runs_days', why });
  }
  if (isLess(installation.runs, requested.runs_days)) {
    const why = `this installation keeps runs for ${inDays(installation.runs)}: choose ${installation.runs} or less`;
    problems.push({ member: 'runs_days', why });
  }
  if (outputs_days.most !== null && isLess(outputs_days.most, requested.outputs_days)) {
    const why = `files are kept no longer than their runs (${
      runs_days.days === null ? 'without end' : inDays(runs_days.days)
    }) and than the store of output files keeps them (${inDays(installation.outputs)}): choose ${outputs_days.most} or less`;
    problems.push({ member: 'outputs_days', why });
  }
  return problems;
};

/** Null and undefined are no limits. */
const isLess = (one: number | null | undefined, other: number | null | undefined): boolean =>
  typeof one === 'number' && typeof other === 'number' && one < other;

const inDays = (days: number): string => {
  if (!Number.isFinite(days)) return 'all time';
  const rounded = Math.round(days * 100) / 100;
  return `${rounded} ${rounded === 1 ? 'day' : 'days'}`;
};

/* oxlint-disable no-restricted-globals -- it makes dates of the broker's times; it does not read the clock */

export const DAY_MS = 86_400_000;

/** Runs that are kept for this long, and whose first fact has left the log. By the broker's clock. */
export const createdBefore = (days: number, { now, beginsAt }: LogAge): Date =>
  new Date(Math.min(now - days * DAY_MS, beginsAt));

export const endedBefore = (days: number, { now }: LogAge): Date => new Date(now - days * DAY_MS);

/** Nothing of the run is to come: its client was notified of the end, or sees that it was not. */
export const isOver = (view: StoredView): view is ViewOf<EndedRun> =>
  isEnded(view.run) && !isUnsettled(view.run, view.webhook.state);
