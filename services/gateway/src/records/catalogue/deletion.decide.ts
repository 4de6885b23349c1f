import type { Deployment } from '@runledger/contracts/catalogue/records';
import type { Conflict } from '../../door/refusal.ts';
import type { UsedRecord } from '../../views/stored-run.decide.ts';

/** What is known of a record that is to be deleted. */
export interface Deletable {
  readonly what: 'machine' | 'workflow' | 'workflow version' | 'deployment';
  readonly archived: boolean;
  readonly changedAt: Date;
  readonly now: Date;
}

/** A request that began before a record was archived has ended after this time. */
const ARCHIVED_FOR_MS = 60_000;

/** Why a record cannot be deleted by its own state; undefined when it can. */
export const undeletable = ({ what, archived, changedAt, now }: Deletable): Conflict | undefined => {
  if (!archived) return { code: 'record_not_archived', why: `The ${what} is not archived: archive it first` };
  const leftMs = changedAt.getTime() + ARCHIVED_FOR_MS - now.getTime();
  if (leftMs <= 0) return undefined;
  const leftS = Math.ceil(leftMs / 1_000);
  return {
    code: 'record_archived_lately',
    why: `The ${what} was archived or changed less than a minute ago, and requests in progress may still use it: try again in ${leftS} s`,
  };
};

const WORDS: Readonly<Record<UsedRecord['kind'], string>> = {
  machine: 'machine',
  workflow_version: 'workflow version',
  deployment: 'deployment',
};

export const usedByRun = (kind: UsedRecord['kind'], run_id: string): Conflict => ({
  code: 'record_in_use',
  why: `The run ${run_id}, which has not ended, was queued with this ${WORDS[kind]}: wait for its end, or cancel it, first`,
});

export const isNewestVersion = (number: number): Conflict => ({
  code: 'newest_version',
  why: `Version ${number} is the newest one of its workflow, and its number must not be given again: create another version first, or delete the workflow`,
});

export const hasVersions = (numbers: readonly number[]): Conflict => ({
  code: 'workflow_has_versions',
  why: `The workflow has the versions ${numbers.join(', ')} and its newest one: delete all but the newest one first`,
});

/** The member of a deployment that names another record. */
export type DeploymentPart = 'machine_id' | 'workflow_id' | 'workflow_version_id';

const PART_WORDS: Readonly<Record<DeploymentPart, string>> = {
  machine_id: 'machine',
  workflow_id: 'workflow',
  workflow_version_id: 'workflow version',
};

/** Why a record that deployments use cannot be archived or deleted: names the newest deployment and counts the others. */
export const blockedByDeployments = (
  newest: Deployment,
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
