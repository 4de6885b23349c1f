import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** In the order in which a run has them. */
const STATUSES = ['queued', 'started', 'running', 'success', 'cancelled'];

/** 0 for a run that was not found. */
const rankOf = (status: unknown): number => STATUSES.indexOf(String(status)) + 1;

export interface ShownRun {
  readonly key: RunKey;
  /** Of the latest status that a response, an event or an acknowledgement showed. */
  rank: number;
}

/** What all clients together were shown. */
export interface ShownRuns {
  add(key: RunKey): ShownRun;
  /** One of the last runs that were queued. */
  recent(): ShownRun | undefined;
  show(run: ShownRun, status: unknown): void;
  /** A response to a request that was sent when the run had this rank. */
  answered(run: ShownRun, before: number, status: unknown, by: string): void;
  /** Responses that showed less than was shown before they were requested. */
  readonly wentBack: readonly object[];
}

const RECENT = 12;

export const shownRuns = (): ShownRuns => {
  const runs: ShownRun[] = [];
  const wentBack: object[] = [];
  const show = (run: ShownRun, status: unknown): void => {
    run.rank = Math.max(run.rank, rankOf(status));
  };
  return {
    add: (key) => {
      const run = { key, rank: rankOf('queued') };
      runs.push(run);
      return run;
    },
    recent: () => runs.at(-1 - Math.floor(Math.random() * Math.min(RECENT, runs.length))),
    show,
    answered: (run, before, status, by) => {
      if (rankOf(status) < before)
        wentBack.push({ by, ...run.key, shownBefore: STATUSES[before - 1], status });
      show(run, status);
    },
    wentBack,
  };
};
