import { newUuid, type OrgId } from '@runledger/contracts/ids';
import { isUnsettled } from '@runledger/contracts/fold/webhook';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { decideAndAppend } from '@runledger/event-log/append/decide-and-append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readWebhookEnd } from '@runledger/event-log/read/read-webhook-end';
import { actOnEach } from '../concurrency/act-on-each.ts';
import type { RunView } from '../projection/core/run-view.ts';
import type { SortKey } from '../projection/core/sort-key.ts';
import type { RunViews } from '../projection/run-views.ts';
import type { CancelRun } from '../runs/cancel/cancel-run.ts';
import type { ReadCurrentRun } from '../runs/current/current-run.ts';
import type { DeletedBy } from '../runs/delete/core/deletion.ts';
import type { DeleteRun } from '../runs/delete/delete-run.ts';
import { notificationExpired, type ExpiryEnvelope } from '../runs/expire/core/expiring.ts';

export interface EraseRunsOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'listRuns' | 'listToErase'>;
  readonly current: ReadCurrentRun;
  readonly cancelRun: CancelRun;
  readonly deleteRun: DeleteRun;
  readonly writer: ExpiryEnvelope['writer'];
  readonly now: () => Date;
  readonly onConflict: () => void;
  /** The run cannot be deleted, and keeps its organisation from being erased. */
  readonly onUnreadable: (key: RunKey, why: string) => void;
}

const PAGE = 200;

/**
 * Deletes the runs of an organisation as a client does: one that has not ended is cancelled before, and its final notification is given
 * up. A run that executes ends within the time of a cancellation, so a later call finds it. What deleted runs had is erased by the
 * gateway that projects. Resolves with how many were deleted now. @throws {LogUnavailable} @throws {ViewsUnavailable}
 */
export const eraseRuns = async (
  options: EraseRunsOptions,
  org_id: OrgId,
  by: DeletedBy,
  stop: AbortSignal,
): Promise<number> => {
  const { views } = options;
  const deleteOne = async ({ run: { run_id } }: RunView): Promise<boolean> =>
    !stop.aborted && deleteAnyRun(options, { org_id, run_id }, by);
  let deleted = 0;
  let behind: SortKey | undefined;
  do {
    const { items, end } = await views.listRuns({ org_id, ...(behind ? { behind } : {}), limit: PAGE });
    deleted += (await actOnEach(items, deleteOne)).filter(Boolean).length;
    behind = end;
  } while (behind !== undefined && !stop.aborted);
  return deleted;
};

/** Whether the views have no run of the organisation, but deleted ones. */
export const haveNoRuns = async (views: Pick<RunViews, 'listRuns'>, org_id: OrgId): Promise<boolean> => {
  const { items, end } = await views.listRuns({ org_id, limit: 1 });
  return items.length === 0 && end === undefined;
};

/** Whether something of its deleted runs is left to erase. */
export const isErasing = async (views: Pick<RunViews, 'listToErase'>, org_id: OrgId): Promise<boolean> => {
  for (let after = ''; ;) {
    const page = await views.listToErase({ after, limit: PAGE });
    if (page.some(({ run }) => run.org_id === org_id)) return true;
    const last = page.at(-1);
    if (!last) return false;
    after = last.run.run_id;
  }
};

/** Each refusal of the deletion is removed once. */
const MAX_TRIES = 3;

const deleteAnyRun = async (options: EraseRunsOptions, key: RunKey, by: DeletedBy): Promise<boolean> => {
  const { cancelRun, deleteRun, onUnreadable } = options;
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const result = await deleteRun('run', key, { ...by, traceparent: null });
    switch (result.kind) {
      case 'deleted':
        return true;
      case 'refused':
        if (result.because === 'not_ended') await cancelRun(key, { ...by, traceparent: null });
        else await giveUpNotification(options, key);
        break;
      case 'unreadable':
        onUnreadable(key, result.why);
        return false;
      case 'already_deleted':
      case 'deleted_before':
      case 'none':
      case 'too_busy':
      case 'log_nearly_full':
      case 'views_unavailable':
        return false;
    }
  }
  return false;
};

/** Otherwise it would be sent for as long as its receiver is away. */
const giveUpNotification = async (
  { log, current, writer, now, onConflict }: EraseRunsOptions,
  key: RunKey,
): Promise<void> => {
  await decideAndAppend(log, {
    read: async () => ({ found: await current(key), end: await readWebhookEnd(log, key) }),
    decide: ({ found, end }) => {
      if (found.kind !== 'found' || end.status === 'settled' || !isUnsettled(found.run, found.webhook.state))
        return { kind: 'answer', answer: undefined };
      const envelope = { event_id: newUuid(), ...key, time: now().toISOString(), writer };
      const event = notificationExpired(found, end, envelope, 'The organisation was erased.');
      return { kind: 'append', event, expected: end.head, answer: undefined };
    },
    onConflict,
  });
};
