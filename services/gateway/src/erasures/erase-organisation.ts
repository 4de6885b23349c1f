import type { Erasure } from '@runledger/contracts/catalogue/records';
import { orgId, type OrgId } from '@runledger/contracts/ids';
import { ofCompleteViews, type CompleteViewsOptions } from '../projection/of-complete-views.ts';
import type { RunViews } from '../projection/run-views.ts';
import { eraseSubjects } from '@runledger/event-log/streams/erase-subjects';
import { keyStore } from '../auth/key-store.ts';
import { revokeAll } from '../auth/revoke-keys.ts';
import { schedulesOf } from '../schedules/schedule-records.ts';
import { eraseFilesOf, type EraseFilesOptions } from './erase-files-of.ts';
import { eraseRuns, haveNoRuns, isErasing, type EraseRunsOptions } from './erase-runs.ts';
import { eraseStored, type EraseStoredOptions } from './erase-stored.ts';
import type { ErasureRecords } from '../catalogue/store/erasure-records.ts';

export interface EraseOrganisationOptions extends EraseRunsOptions, EraseStoredOptions, CompleteViewsOptions {
  readonly views: Pick<RunViews, 'listRuns' | 'listToErase' | 'position'>;
  readonly erasures: Pick<ErasureRecords, 'change'>;
  readonly files: EraseFilesOptions;
  /** People who are members of no other organisation have no account afterwards. Resolves with how many members and invitations there were. */
  readonly eraseMembers: (org_id: OrgId) => Promise<number>;
}

/** Longer than a request that was identified before its key was revoked can go on storing something. */
const QUIET_FOR_MS = 10 * 60_000;

/**
 * One pass over everything that an organisation has. The runs go before the blobs and the archive, which name output files, so these wait
 * until it is certain that it has none. It may be repeated, and by several gateways at once. @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {OutputStoreUnavailable}
 */
export const eraseOrganisation = async (
  options: EraseOrganisationOptions,
  erasure: Erasure,
  stop: AbortSignal,
): Promise<void> => {
  const { log, erasures, views, now } = options;
  const { quiet_at, requested_by } = erasure;
  if (quiet_at !== null && now().getTime() < Date.parse(quiet_at) + QUIET_FOR_MS) return;
  const org_id = orgId(erasure.org_id);
  const keys = await revokeAll(keyStore(log), org_id);
  const members = await options.eraseMembers(org_id);
  // Otherwise they would queue runs while these are deleted.
  const schedules = await eraseSubjects(log, 'KV_SCHEDULES', schedulesOf(org_id));
  const runs = await eraseRuns(options, org_id, requested_by, stop);
  const hasNone = async () => (await haveNoRuns(views, org_id)) && !(await isErasing(views, org_id));
  const isWithoutRuns = !stop.aborted && (await ofCompleteViews(options, hasNone)) === true;
  const [files, stored] = isWithoutRuns
    ? [await eraseFilesOf(options.files, org_id), await eraseStored(options, org_id)]
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
