import type { RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** The views of a run differ: the next set has what follows from the facts. */
export interface Difference {
  readonly run_id: RunId;
  readonly why: string;
}

/** Each run counts once. */
export interface Differences {
  readonly add: (key: Pick<RunKey, 'run_id'>, why: string) => void;
  /** So many at the most: beyond, a set is no longer like the other one at all. */
  readonly all: () => readonly Difference[];
}

const MAX_DIFFERENCES = 100_000;

export const OTHER_STATE = 'its live view says something else than its facts';

export const noDifferences = (known: readonly Difference[] = []): Differences => {
  const runs = new Map(known.map(({ run_id, why }) => [run_id, why]));
  return {
    add: ({ run_id }, why) => {
      if (runs.size < MAX_DIFFERENCES) runs.set(run_id, why);
    },
    all: () => [...runs].map(([run_id, why]) => ({ run_id, why })),
  };
};
