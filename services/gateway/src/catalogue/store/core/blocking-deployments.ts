import type { Deployment } from '@runledger/contracts/catalogue/records';

/** What a deployment names. */
export type DeploymentPart = 'machine_id' | 'workflow_id' | 'workflow_version_id';

const WORDS: Readonly<Record<DeploymentPart, string>> = {
  machine_id: 'machine',
  workflow_id: 'workflow',
  workflow_version_id: 'workflow version',
};

/** Why something is not archived that unarchived deployments use: the newest of them, and so many others. */
export const blockedByDeployments = (
  newest: Pick<Deployment, 'id' | 'name'>,
  others: number,
  used: DeploymentPart,
): string => {
  const more = others === 0 ? '' : `, and ${others} more`;
  return (
    `This ${WORDS[used]} is used by the deployment "${newest.name}" (${newest.id})${more}. ` +
    `Archive the deployment, or give it another ${WORDS[used]}, first`
  );
};
