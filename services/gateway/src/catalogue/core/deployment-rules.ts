import type { Deployment, Machine, NumberedVersion, Workflow } from '@runledger/contracts/catalogue/records';
import { MAX_RUN_LIFETIME_S } from '@runledger/contracts/limits';

/** What the catalogue says of what a deployment names; undefined for what the organisation does not have. */
export interface DeploymentParts {
  readonly machine: Pick<Machine, 'archived'> | undefined;
  readonly version: Pick<NumberedVersion, 'workflow_id' | 'archived'> | undefined;
  /** Of the version. */
  readonly workflow: Pick<Workflow, 'archived'> | undefined;
}

export interface WrongMember {
  /** Undefined for what several members are wrong in together. */
  readonly member?: 'machine_id' | 'workflow_version_id';
  readonly why: string;
}

export type DeploymentRefusal =
  | { readonly kind: 'invalid'; readonly wrong: readonly WrongMember[] }
  /** It is not what the request says, but what is there. */
  | { readonly kind: 'conflict'; readonly why: string };

/** Why a deployment cannot stand on its version. */
export const wrongVersion = ({ version, workflow }: DeploymentParts): WrongMember[] => {
  const member = 'workflow_version_id';
  if (!version) return [{ member, why: 'the organisation has no workflow version with this id' }];
  if (version.archived)
    return [{ member, why: 'the workflow version is archived. Restore it, or name another' }];
  if (workflow?.archived)
    return [{ member, why: 'the workflow of this version is archived. Restore it, or name another' }];
  return [];
};

/** Why it cannot stand on its machine. */
export const wrongMachine = ({ machine }: DeploymentParts): WrongMember[] => {
  const member = 'machine_id';
  if (!machine) return [{ member, why: 'the organisation has no machine with this id' }];
  return machine.archived ? [{ member, why: 'the machine is archived. Restore it, or name another' }] : [];
};

/** Why its runs could outlive their events in the log; undefined when they could not. */
export const tooLongLife = ({
  start_deadline_s,
  run_timeout_s,
  retry,
}: Pick<Deployment, 'start_deadline_s' | 'run_timeout_s' | 'retry'>): string | undefined => {
  const longest = (start_deadline_s + run_timeout_s) * retry.attempts;
  if (longest <= MAX_RUN_LIFETIME_S) return undefined;
  return (
    `A run of this deployment could live ${longest} s (start deadline and run timeout, for each attempt), and its events are ` +
    `kept for little more than ${MAX_RUN_LIFETIME_S} s. Lower the deadline, the timeout or the attempts.`
  );
};
