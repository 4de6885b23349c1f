import type { Deployment } from '@runledger/contracts/catalogue';
import type { DecidedRecord } from '../domain/decided-record.ts';
import { deploymentsInTheWay } from '../domain/deployments-in-the-way.ts';
import type { Records } from './records.ts';

interface Archivable {
  readonly id: string;
  readonly org_id: string;
  readonly archived?: boolean;
}

/** Lets a record become another, unless that archives what a deployment needs. @throws {LogUnavailable} */
export const decideArchiving = async <Stored extends Archivable>(
  deployments: Pick<Records<Deployment>, 'list'>,
  used: Parameters<typeof deploymentsInTheWay>[1],
  before: Stored,
  record: Stored,
): Promise<DecidedRecord<Stored, string>> => {
  const isArchived = record.archived === true && before.archived !== true;
  const why = isArchived
    ? deploymentsInTheWay(await deployments.list(record.org_id), used, record.id)
    : undefined;
  return why === undefined ? { kind: 'changed', record } : { kind: 'refused', why };
};
