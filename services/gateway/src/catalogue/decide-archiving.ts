import type { Conflict } from '../http/refusal.ts';
import type { DecidedRecord } from './store/core/decided-record.ts';
import { blockedByDeployments, type DeploymentPart } from './store/core/blocking-deployments.ts';
import type { CatalogueRecords } from './store/catalogue-records.ts';

interface Archivable {
  readonly id: string;
  readonly org_id: string;
  readonly archived?: boolean;
}

/** Allows a change of a record, unless it archives a record that a deployment needs. @throws {LogUnavailable} */
export const decideArchiving = async <Stored extends Archivable>(
  deployments: Pick<CatalogueRecords['deployments'], 'find'>,
  used: DeploymentPart,
  before: Stored,
  record: Stored,
): Promise<DecidedRecord<Stored, Conflict>> => {
  const isArchived = record.archived === true && before.archived !== true;
  const blocking = isArchived
    ? await deployments.find(record.org_id, (one) => !one.archived && one[used] === record.id)
    : undefined;
  return blocking === undefined
    ? { kind: 'changed', record }
    : { kind: 'refused', why: blockedByDeployments(blocking.newest, blocking.others, used, 'Archive') };
};
