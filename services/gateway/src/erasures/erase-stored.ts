import type { BlobStores } from '@runledger/blob-store/blob-stores';
import { timersOfOrg } from '@runledger/contracts/deliveries/timers';
import type { OrgId } from '@runledger/contracts/ids';
import { orgLogsFilter } from '@runledger/contracts/logs/log-chunk';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { eraseSubjects } from '@runledger/event-log/streams/erase-subjects';

export interface EraseStoredOptions {
  readonly log: EventLog;
  readonly stores: BlobStores;
  /** Resolves with how much there was. */
  readonly eraseArchive: (org_id: OrgId) => Promise<number>;
}

/**
 * What is stored under the id of an organisation and names nothing elsewhere. Its keys, runs and files are erased in other ways, and its
 * erasure, `erasures.<org_id>` in CATALOGUE, stays.
 */
const subjectsOf = (org_id: OrgId): readonly (readonly [stream: string, subjects: string])[] => [
  ['KV_CATALOGUE', `$KV.CATALOGUE.*.${org_id}.>`],
  ['KV_CATALOGUE', `$KV.CATALOGUE.retention.${org_id}`],
  ['KV_CATALOGUE', `$KV.CATALOGUE.organisations.${org_id}`],
  ['KV_WEBHOOK_SECRETS', `$KV.WEBHOOK_SECRETS.${org_id}`],
  ['LOGS', orgLogsFilter(org_id)],
  ['ACTIVITY', `activity.${org_id}.>`],
  ['DELIVERY_ATTEMPTS', `delivery_attempts.${org_id}.>`],
  ['TIMERS', timersOfOrg(org_id)],
];

/** Resolves with how many messages there were. @throws {LogUnavailable} */
export const eraseStored = async (
  { log, stores: { workflows, blobs }, eraseArchive }: EraseStoredOptions,
  org_id: OrgId,
): Promise<number> => {
  let erased = (await workflows.eraseAll(org_id)) + (await blobs.eraseAll(org_id));
  erased += await eraseArchive(org_id);
  for (const [stream, subjects] of subjectsOf(org_id)) erased += await eraseSubjects(log, stream, subjects);
  return erased;
};
