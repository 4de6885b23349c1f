import { orgId, newUuid, type OrgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { Logger } from '@runledger/event-log/connect/observability';
import type { Erasure } from '@runledger/contracts/catalogue/records';
import { everyEntry } from '@runledger/event-log/streams/bucket';
import { eraseSubjects } from '@runledger/event-log/streams/erase-messages';
import { isUnsettled } from '@runledger/contracts/fold/webhook';
import { decideAndAppend } from '@runledger/event-log/append/decide-and-append';
import { readWebhookEnd } from '@runledger/event-log/read/read-run';
import { isContinued, type ProjectionPosition } from '../views/projection-start.decide.ts';
import { everyPage, everyView } from '../views/scan-list.ts';
import { ofCompleteViews } from '../views/fresh-views.ts';
import type { Kit } from '../kit.ts';
import type { Upkeep, Work } from './keeper.ts';
import type { ErasureRecords } from '../records/erasure.ts';
import type { RunViews } from '../views/run-views.ts';
import { keyStore } from '../records/keys/key-store.ts';
import { revokeAll } from '../records/keys/api-keys.ts';
import { schedulesOf } from '../records/schedule-records.ts';
import { eraseModelsOf } from '../files/models.ts';
import { eraseFilesOf, eraseStored } from './erase-deleted.ts';
import { actOnEach } from '../act-on-each.ts';
import type { RunView } from '../views/run-view.ts';
import type { SortKey } from '../views/sort-key.decide.ts';
import type { ReadCurrentRun } from '../runs/facts/current-run.ts';
import type { DeletedBy } from '../runs/facts/delete.decide.ts';
import { notificationExpired } from '../runs/facts/expiring.decide.ts';

/**
 * Erases the organisations whose erasure was requested. Their records say what is left after a crash. A copy of the
 * views may bring back runs of one that was complete: then its erasure goes on.
 */
export const eraseOrganisations = (kit: Kit, kept: Upkeep): Work => {
  const { erasures } = kept;
  const onUnreadable = errorOnce(kit.logger);
  /** The revision up to which all are complete. */
  let completeUpTo = 0;
  /** The views that had no run of these. */
  let without: ProjectionPosition | undefined;
  return async (stop) => {
    const failures: unknown[] = [];
    let areComplete = true;
    for await (const { value, revision } of everyEntry(erasures.next, completeUpTo)) {
      if (stop.aborted) break;
      areComplete &&= value.erased_at !== null;
      if (areComplete) completeUpTo = revision;
      // One that fails holds up no other.
      if (value.erased_at === null)
        await eraseOrganisation(kit, kept, value, onUnreadable, stop).catch((error: unknown) =>
          failures.push(error),
        );
    }
    if (completeUpTo > 0) without = await eraseAgain(kit, kept, without, stop);
    if (failures.length > 0) throw failures[0];
  };
};

/** The run cannot be deleted, and keeps its organisation from being erased. */
type OnUnreadable = (key: RunKey, why: string) => void;

/**
 * Lets the erasures go on of which the views have runs again: in the beginning, and when the views were derived again or are those of a copy.
 * Resolves with the views that have none of the others; undefined while that is unknown.
 */
const eraseAgain = async (
  { views, logger }: Kit,
  { erasures, fresh }: Upkeep,
  without: ProjectionPosition | undefined,
  stop: AbortSignal,
): Promise<ProjectionPosition | undefined> => {
  if (without && isContinued(without, await views.position())) return without;
  const found = await ofCompleteViews(views, fresh, 'each', async (at) => ({
    // One whose object could not be read may come to have some.
    at: at.missed === null ? at : undefined,
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
  for await (const { value } of everyEntry(erasures.next)) {
    if (stop.aborted) break;
    const { org_id, erased_at } = value;
    if (erased_at !== null && !(await haveNoRuns(views, orgId(org_id)))) found.push(org_id);
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
  kept: Upkeep,
  erasure: Erasure,
  onUnreadable: OnUnreadable,
  stop: AbortSignal,
): Promise<void> => {
  const { log, views, now } = kit;
  const { erasures, fresh, archive, memberships } = kept;
  const { quiet_at, requested_by } = erasure;
  if (quiet_at !== null && now().getTime() < Date.parse(quiet_at) + QUIET_FOR_MS) return;
  const org_id = orgId(erasure.org_id);
  const keys = await revokeAll(keyStore(log), org_id);
  const members = await memberships.erase(org_id);
  // Otherwise they would queue runs while these are deleted.
  const schedules = await eraseSubjects(log, 'KV_SCHEDULES', schedulesOf(org_id));
  const runs = await eraseRuns(kit, kept, org_id, requested_by, onUnreadable, stop);
  const hasNone = async () => (await haveNoRuns(views, org_id)) && !(await isErasing(views, org_id));
  const isWithoutRuns = !stop.aborted && (await ofCompleteViews(views, fresh, org_id, hasNone)) === true;
  const [files, stored] = isWithoutRuns
    ? [
        (await eraseFilesOf(kept.fileRecords, kept.outputs, org_id)) +
          (await eraseModelsOf(kept.models, org_id)),
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
  kept: Upkeep,
  org_id: OrgId,
  by: DeletedBy,
  onUnreadable: OnUnreadable,
  stop: AbortSignal,
): Promise<number> => {
  const { views } = kit;
  const deleteOne = async ({ run: { run_id } }: RunView): Promise<boolean> =>
    !stop.aborted && deleteAnyRun(kit, kept, { org_id, run_id }, by, onUnreadable);
  const list = (behind: SortKey | undefined) =>
    views.listRuns({ org_id, ...(behind && { behind }), limit: PAGE });
  let deleted = 0;
  for await (const page of everyPage(list)) {
    deleted += (await actOnEach(page, deleteOne)).filter(Boolean).length;
    if (stop.aborted) break;
  }
  return deleted;
};

/** Whether the views have no run of the organisation, but deleted ones. */
const haveNoRuns = async (views: RunViews, org_id: OrgId): Promise<boolean> => {
  const { items, end } = await views.listRuns({ org_id, limit: 1 });
  return items.length === 0 && end === undefined;
};

/** Whether something of its deleted runs is left to erase. */
const isErasing = async (views: RunViews, org_id: OrgId): Promise<boolean> => {
  for await (const { run } of everyView((query) => views.listToErase(query)))
    if (run.org_id === org_id) return true;
  return false;
};

/** Each refusal of the deletion is removed once. */
const MAX_TRIES = 3;

const deleteAnyRun = async (
  kit: Kit,
  kept: Upkeep,
  key: RunKey,
  by: DeletedBy,
  onUnreadable: OnUnreadable,
): Promise<boolean> => {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const result = await kept.delete('run', key, { ...by, traceparent: null });
    switch (result.kind) {
      case 'deleted':
        return true;
      case 'refused':
        if (result.because === 'not_ended') await kept.cancel(key, { ...by, traceparent: null });
        else await giveUpNotification(kit, kept.current, key);
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
