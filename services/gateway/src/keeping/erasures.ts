import { orgId, newUuid, type OrgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { Logger } from '@runledger/event-log/connect/observability';
import type { Erasure } from '@runledger/contracts/catalogue/records';
import { eraseSubjects } from '@runledger/event-log/streams/erase-messages';
import { isUnsettled } from '@runledger/contracts/fold/webhook';
import { decideAndAppend } from '@runledger/event-log/append/decide-and-append';
import { readWebhookEnd } from '@runledger/event-log/read/read-run';
import { isContinued, type ProjectionPosition } from '../views/projection-start.decide.ts';
import { ofCompleteViews, type FreshViews } from '../views/fresh-views.ts';
import type { Kit } from '../kit.ts';
import type { Archive } from '../archive/archive.ts';
import type { FileRecords } from '../files/file-records.ts';
import type { OutputStore } from '../files/output-store.ts';
import type { Memberships } from '../records/people/membership.ts';
import type { Work } from './keeper.ts';
import type { ErasureRecords } from '../records/erasure.ts';
import type { RunViews } from '../views/run-views.ts';
import { keyStore } from '../records/keys/key-store.ts';
import { revokeAll } from '../records/keys/api-keys.ts';
import { schedulesOf } from '../records/schedule-records.ts';
import { eraseFilesOf, eraseStored } from './erase-deleted.ts';
import { actOnEach } from '../act-on-each.ts';
import type { RunView } from '../views/run-view.ts';
import type { SortKey } from '../views/sort-key.decide.ts';
import type { CancelRun } from '../runs/facts/cancel-run.ts';
import type { ReadCurrentRun } from '../runs/facts/current-run.ts';
import type { DeletedBy } from '../runs/facts/delete.decide.ts';
import type { DeleteRun } from '../runs/facts/delete-run.ts';
import { notificationExpired } from '../runs/facts/expiring.decide.ts';

/**
 * Erases the organisations whose erasure was requested. Their records say what is left after a crash. A copy of the
 * views may bring back runs of one that was complete: then its erasure goes on.
 */
export const eraseOrganisations = (kit: Kit, organisations: ErasableOrganisations): Work => {
  const { erasures } = organisations;
  const onUnreadable = errorOnce(kit.logger);
  /** The revision up to which all are complete. */
  let completeUpTo = 0;
  /** The views that had no run of these. */
  let without: ProjectionPosition | undefined;
  return async (stop) => {
    const failures: unknown[] = [];
    for (let behind = completeUpTo; !stop.aborted;) {
      const erasure = await erasures.next(behind);
      if (!erasure) break;
      const { value, revision } = erasure;
      if (value.erased_at !== null) {
        if (behind === completeUpTo) completeUpTo = revision;
      } else {
        // One that fails holds up no other.
        await eraseOrganisation(kit, organisations, value, onUnreadable, stop).catch((error: unknown) =>
          failures.push(error),
        );
      }
      behind = revision;
    }
    if (completeUpTo > 0) without = await eraseAgain(kit, organisations, without, stop);
    if (failures.length > 0) throw failures[0];
  };
};

/** What an organisation has, and who erases it. */
export interface ErasableOrganisations {
  readonly erasures: ErasureRecords;
  readonly fresh: FreshViews;
  readonly current: ReadCurrentRun;
  readonly cancelRun: CancelRun;
  readonly deleteRun: DeleteRun;
  readonly archive: Archive;
  /** Of files that its clients uploaded. */
  readonly files: FileRecords;
  readonly store: OutputStore;
  /** People who are members of no other organisation have no account afterwards. */
  readonly memberships: Memberships;
}

/** The run cannot be deleted, and keeps its organisation from being erased. */
type OnUnreadable = (key: RunKey, why: string) => void;

/**
 * Lets the erasures go on of which the views have runs again: in the beginning, and when the views were derived again or are those of a copy.
 * Resolves with the views that have none of the others; undefined while that is unknown.
 */
const eraseAgain = async (
  { views, logger }: Kit,
  { erasures, fresh }: ErasableOrganisations,
  without: ProjectionPosition | undefined,
  stop: AbortSignal,
): Promise<ProjectionPosition | undefined> => {
  if (without && isContinued(without, await views.position())) return without;
  const found = await ofCompleteViews(views, fresh, async (at) => ({
    at,
    again: await completeWithRuns(views, erasures, stop),
  }));
  for (const org_id of found?.again ?? []) {
    logger.warn({ org_id }, 'the views have runs of an erased organisation again: it is erased again');
    await erasures.change(org_id, (present) => ({ ...present, quiet_at: null, erased_at: null }));
  }
  return stop.aborted ? undefined : found?.at;
};

const completeWithRuns = async (
  views: RunViews,
  erasures: ErasureRecords,
  stop: AbortSignal,
): Promise<string[]> => {
  const found: string[] = [];
  for (let behind = 0; !stop.aborted;) {
    const erasure = await erasures.next(behind);
    if (!erasure) break;
    const { org_id, erased_at } = erasure.value;
    if (erased_at !== null && !(await haveNoRuns(views, orgId(org_id)))) found.push(org_id);
    behind = erasure.revision;
  }
  return found;
};

/** Once for each run, since a pass finds it again and again. */
const errorOnce = (logger: Logger): OnUnreadable => {
  const known = new Set<string>();
  return (key, why) => {
    if (known.has(key.run_id)) return;
    known.add(key.run_id);
    logger.error(
      { ...key, why },
      'a run cannot be read, and keeps its organisation from being erased: look at it with "runledger history"',
    );
  };
};

/** Longer than a request that was identified before its key was revoked can go on storing something. */
const QUIET_FOR_MS = 10 * 60_000;

/**
 * One pass over everything that an organisation has. The runs go before the blobs and the archive, which name output files, so these wait
 * until it is certain that it has none. It may be repeated, and by several gateways at once. @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {OutputStoreUnavailable}
 */
const eraseOrganisation = async (
  kit: Kit,
  organisations: ErasableOrganisations,
  erasure: Erasure,
  onUnreadable: OnUnreadable,
  stop: AbortSignal,
): Promise<void> => {
  const { log, views, now } = kit;
  const { erasures, fresh, archive, memberships } = organisations;
  const { quiet_at, requested_by } = erasure;
  if (quiet_at !== null && now().getTime() < Date.parse(quiet_at) + QUIET_FOR_MS) return;
  const org_id = orgId(erasure.org_id);
  const keys = await revokeAll(keyStore(log), org_id);
  const members = await memberships.erase(org_id);
  // Otherwise they would queue runs while these are deleted.
  const schedules = await eraseSubjects(log, 'KV_SCHEDULES', schedulesOf(org_id));
  const runs = await eraseRuns(kit, organisations, org_id, requested_by, onUnreadable, stop);
  const hasNone = async () => (await haveNoRuns(views, org_id)) && !(await isErasing(views, org_id));
  const isWithoutRuns = !stop.aborted && (await ofCompleteViews(views, fresh, hasNone)) === true;
  const [files, stored] = isWithoutRuns
    ? [
        await eraseFilesOf(organisations.files, organisations.store, org_id),
        await eraseStored(kit, archive, org_id),
      ]
    : [0, 0];
  const isQuiet = isWithoutRuns && keys + members + schedules + files + stored === 0;
  const at = now().toISOString();
  await erasures.change(org_id, (present) => ({
    ...present,
    quiet_at: isQuiet ? (present.quiet_at ?? at) : null,
    erased_at: isQuiet && quiet_at !== null && present.quiet_at === quiet_at ? at : null,
    erases: {
      keys: present.erases.keys + keys,
      runs: present.erases.runs + runs,
      files: present.erases.files + files,
    },
  }));
};

const PAGE = 200;

/**
 * Deletes the runs of an organisation as a client does: one that has not ended is cancelled before, and its final notification is given
 * up. A run that executes ends within the time of a cancellation, so a later call finds it. What deleted runs had is erased by the
 * gateway that projects. Resolves with how many were deleted now. @throws {LogUnavailable} @throws {ViewsUnavailable}
 */
const eraseRuns = async (
  kit: Kit,
  organisations: ErasableOrganisations,
  org_id: OrgId,
  by: DeletedBy,
  onUnreadable: OnUnreadable,
  stop: AbortSignal,
): Promise<number> => {
  const { views } = kit;
  const deleteOne = async ({ run: { run_id } }: RunView): Promise<boolean> =>
    !stop.aborted && deleteAnyRun(kit, organisations, { org_id, run_id }, by, onUnreadable);
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
const haveNoRuns = async (views: RunViews, org_id: OrgId): Promise<boolean> => {
  const { items, end } = await views.listRuns({ org_id, limit: 1 });
  return items.length === 0 && end === undefined;
};

/** Whether something of its deleted runs is left to erase. */
const isErasing = async (views: RunViews, org_id: OrgId): Promise<boolean> => {
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

const deleteAnyRun = async (
  kit: Kit,
  { current, cancelRun, deleteRun }: ErasableOrganisations,
  key: RunKey,
  by: DeletedBy,
  onUnreadable: OnUnreadable,
): Promise<boolean> => {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const result = await deleteRun('run', key, { ...by, traceparent: null });
    switch (result.kind) {
      case 'deleted':
        return true;
      case 'refused':
        if (result.because === 'not_ended') await cancelRun(key, { ...by, traceparent: null });
        else await giveUpNotification(kit, current, key);
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
  { log, writer, now, metrics }: Kit,
  current: ReadCurrentRun,
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
    onConflict: metrics.conflict,
  });
};
