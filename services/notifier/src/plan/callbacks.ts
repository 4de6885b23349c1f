import { originOf } from '@runledger/contracts/deliveries';
import type { RunId } from '@runledger/contracts/ids';
import type { RunRequest } from '@runledger/contracts/run';
import type { RunKey } from '@runledger/contracts/subjects';

/** Where a run's notifications go, and which it wants. */
export interface Callback {
  readonly origin: string;
  readonly intermediate: boolean;
}

/** Null for a run that wants none. */
export const callbackOf = ({ webhook, webhook_intermediate_status }: RunRequest): Callback | null => {
  const url = webhook === null ? null : URL.parse(webhook);
  return url ? { origin: originOf(url), intermediate: webhook_intermediate_status } : null;
};

export interface Callbacks {
  note(run: RunId, callback: Callback | null): void;
  /** Looks it up when it is not known (any more). Null for a run that wants none, or that there is none of. */
  find(key: RunKey): Promise<Callback | null>;
}

const MOST_KNOWN = 50_000;

/** What was learnt last of runs' callbacks, so that not every fact costs a read. */
export const openCallbacks = (lookUp: (key: RunKey) => Promise<Callback | null>): Callbacks => {
  const known = new Map<RunId, Callback | null>();
  const asked = new Map<RunId, Promise<Callback | null>>();
  const note = (run: RunId, callback: Callback | null): void => {
    known.delete(run);
    known.set(run, callback);
    if (known.size <= MOST_KNOWN) return;
    const [oldest] = known.keys();
    if (oldest !== undefined) known.delete(oldest);
  };
  return {
    note,
    find: (key) => {
      const callback = known.get(key.run_id);
      if (callback !== undefined) return Promise.resolve(callback);
      const already = asked.get(key.run_id);
      if (already) return already;
      const asking = lookUp(key)
        .then((found) => {
          note(key.run_id, found);
          return found;
        })
        .finally(() => asked.delete(key.run_id));
      asked.set(key.run_id, asking);
      return asking;
    },
  };
};
