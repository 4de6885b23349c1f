import { originOf } from '@runledger/contracts/deliveries/deliveries';
import type { RunId } from '@runledger/contracts/ids';
import type { RunRequest } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** Where a run's notifications go, and which it wants. */
export interface WebhookTarget {
  readonly origin: string;
  readonly intermediate: boolean;
}

/** What an URL has that is none of HTTP; a text that is no URL has it here, so that its delivery comes to an end as any other. */
const NO_ORIGIN = 'null';

/** Null for a run that wants none. */
export const webhookTargetOf = ({
  webhook,
  webhook_intermediate_status,
}: RunRequest): WebhookTarget | null => {
  if (webhook === null) return null;
  const url = URL.parse(webhook);
  return { origin: url ? originOf(url) : NO_ORIGIN, intermediate: webhook_intermediate_status };
};

export interface WebhookTargets {
  note(run: RunId, callback: WebhookTarget | null): void;
  /** Looks it up when it is not known (any more). Null for a run that wants none, or that there is none of. */
  find(key: RunKey): Promise<WebhookTarget | null>;
}

const MOST_KNOWN = 50_000;

/** Remembers the callbacks that were asked for last, so that not every fact costs a read. */
export const openWebhookTargets = (
  lookUp: (key: RunKey) => Promise<WebhookTarget | null>,
  most = MOST_KNOWN,
): WebhookTargets => {
  // By halves: to find the oldest of a map costs as many steps as were removed before it.
  let recent = new Map<RunId, WebhookTarget | null>();
  let older = new Map<RunId, WebhookTarget | null>();
  const asked = new Map<RunId, Promise<WebhookTarget | null>>();

  const note = (run: RunId, callback: WebhookTarget | null): void => {
    recent.set(run, callback);
    if (recent.size < most / 2) return;
    older = recent;
    recent = new Map();
  };
  const recall = (run: RunId): WebhookTarget | null | undefined => {
    const callback = recent.get(run);
    if (callback !== undefined) return callback;
    const once = older.get(run);
    if (once !== undefined) note(run, once);
    return once;
  };
  const ask = async (key: RunKey): Promise<WebhookTarget | null> => {
    try {
      const found = await lookUp(key);
      // What was noted meanwhile is newer: the run may not have been there yet.
      const noted = recall(key.run_id);
      if (noted !== undefined) return noted;
      note(key.run_id, found);
      return found;
    } finally {
      asked.delete(key.run_id);
    }
  };
  return {
    note,
    find: async (key) => {
      const known = recall(key.run_id);
      if (known !== undefined) return known;
      const asking = asked.get(key.run_id) ?? ask(key);
      asked.set(key.run_id, asking);
      return asking;
    },
  };
};
