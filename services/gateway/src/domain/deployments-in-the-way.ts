import type { Deployment } from '@runledger/contracts/catalogue';

type Used = 'machine_id' | 'workflow_id' | 'workflow_version_id';

const WORDS: Readonly<Record<Used, string>> = {
  machine_id: 'machine',
  workflow_id: 'workflow',
  workflow_version_id: 'workflow version',
};

/** Why something is not archived: its deployments. Undefined when there are none, archived ones aside. */
export const deploymentsInTheWay = (
  deployments: readonly Deployment[],
  used: Used,
  id: string,
): string | undefined => {
  const [first, ...others] = deployments.filter(
    (deployment) => !deployment.archived && deployment[used] === id,
  );
  if (!first) return undefined;
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  return (
    `This ${WORDS[used]} is used by the deployment "${first.name}" (${first.id})${more}. ` +
    `Archive the deployment, or give it another ${WORDS[used]}, first`
  );
};
