import type { Erasure } from '@runledger/contracts/catalogue/records';
import { orgId, type OrgId } from '@runledger/contracts/ids';
import type { FreshViews } from '../projection/fresh-views.ts';
import { eraseSubjects } from '@runledger/event-log/streams/erase-subjects';
import { keyStore } from '../auth/key-store.ts';
import { revokeAll } from '../auth/revoke-keys.ts';
import { schedulesOf } from '../schedules/schedule-records.ts';
import { eraseFilesOf, type EraseFilesOptions } from './erase-files-of.ts';
import { eraseRuns, type EraseRunsOptions } from './erase-runs.ts';
import { eraseStored, type EraseStoredOptions } from './erase-stored.ts';
import type { ErasureRecords } from '../catalogue/store/erasure-records.ts';

export interface EraseOrganisationOptions extends EraseRunsOptions, EraseStoredOptions {
  readonly erasures: Pick<ErasureRecords, 'change'>;
  readonly fresh: Pick<FreshViews, 'becomeFresh'>;
  readonly files: EraseFilesOptions;
  /** People who are members of no other organisation have no account afterwards. Resolves with how many members and invitations there were. */
  readonly eraseMembers: (org_id: OrgId) => Promise<number>;
}

/** Longer than a request that was identified before its key was revoked can go on storing something. */
const QUIET_FOR_MS = 10 * 60_000;

/**
 * One pass over everything that an organisation has. The views go before the blobs, which name output files. It may be repeated, and
 * by several gateways at once. @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {OutputStoreUnavailable}
 */
export const eraseOrganisation = async (
  options: EraseOrganisationOptions,
  erasure: Erasure,
  stop: AbortSignal,
): Promise<void> => {
  const { log, erasures, fresh, now } = options;
  const { quiet_at, requested_by } = erasure;
  if (quiet_at !== null && now().getTime() < Date.parse(quiet_at) + QUIET_FOR_MS) return;
  const org_id = orgId(erasure.org_id);
  const keys = await revokeAll(keyStore(log), org_id);
  const members = await options.eraseMembers(org_id);
  // Otherwise they would queue runs while these are deleted.
  const schedules = await eraseSubjects(log, 'KV_SCHEDULES', schedulesOf(org_id));
  const areFresh = await fresh.becomeFresh();
  const runs = await eraseRuns(options, org_id, requested_by, stop);
  const isWithoutRuns = areFresh && runs.isDone;
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
      runs: present.erases.runs + runs.deleted,
      files: present.erases.files + files,
    },
  }));
};
