import type { DecidedRecord } from './store/core/decided-record.ts';
import { blockedByDeployments, type DeploymentPart } from './store/core/blocking-deployments.ts';
import type { CatalogueRecords } from './store/catalogue-records.ts';

interface Archivable {
  readonly id: string;
  readonly org_id: string;
  readonly archived?: boolean;
}

/** Lets a record become another, unless that archives what a deployment needs. @throws {LogUnavailable} */
export const decideArchiving = async <Stored extends Archivable>(
  deployments: Pick<CatalogueRecords['deployments'], 'find'>,
  used: DeploymentPart,
  before: Stored,
  record: Stored,
): Promise<DecidedRecord<Stored, string>> => {
  const isArchived = record.archived === true && before.archived !== true;
  const inTheWay = isArchived
    ? await deployments.find(record.org_id, (one) => !one.archived && one[used] === record.id)
    : undefined;
  return inTheWay === undefined
    ? { kind: 'changed', record }
    : { kind: 'refused', why: blockedByDeployments(inTheWay.newest, inTheWay.others, used) };
};
