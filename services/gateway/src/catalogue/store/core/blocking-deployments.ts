import type { Deployment } from '@runledger/contracts/catalogue/records';
import type { Conflict } from '../../../http/refusal.ts';

/** The member of a deployment that names another record. */
export type DeploymentPart = 'machine_id' | 'workflow_id' | 'workflow_version_id';

const PART_WORDS: Readonly<Record<DeploymentPart, string>> = {
  machine_id: 'machine',
  workflow_id: 'workflow',
  workflow_version_id: 'workflow version',
};

/** Why a record that deployments use cannot be archived or deleted: names the newest deployment and counts the others. */
export const blockedByDeployments = (
  newest: Pick<Deployment, 'id' | 'name'>,
  others: number,
  used: DeploymentPart,
  verb: 'Archive' | 'Delete',
): Conflict => {
  const more = others === 0 ? '' : `, and ${others} more`;
  const why =
    `This ${PART_WORDS[used]} is used by the deployment "${newest.name}" (${newest.id})${more}. ` +
    `${verb} the deployment, or give it another ${PART_WORDS[used]}, first`;
  return { code: 'record_in_use', why };
};
