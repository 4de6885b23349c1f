import type { Deployment, Machine, NumberedVersion, Workflow } from '@runledger/contracts/catalogue';
import type { Deployment as ShownDeployment } from '@runledger/contracts/http/deployments';
import type { GpuModel } from '@runledger/contracts/gpu';
import { MAX_RUN_LIFETIME_S } from '@runledger/contracts/limits';
import type { DecidedRecord, LeftOut, RecordOrigin } from './decided-record.ts';

interface Settings {
  readonly environment?: string | LeftOut;
  /** Here and below: null clears it, and leaving it out changes nothing. */
  readonly gpu?: GpuModel | LeftOut;
  readonly concurrency_limit?: number | LeftOut;
  readonly run_timeout_s?: number | LeftOut;
  readonly start_deadline_s?: number | LeftOut;
  readonly retry?: { readonly attempts: number } | LeftOut;
}

export interface DeploymentWish extends Settings {
  readonly name: string;
  readonly workflow_version_id: string;
  readonly machine_id: string;
}

export interface DeploymentChange extends Settings {
  readonly name?: string | LeftOut;
  readonly workflow_version_id?: string | LeftOut;
  readonly machine_id?: string | LeftOut;
  readonly archived?: boolean | LeftOut;
}

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

type Decision = DecidedRecord<Deployment, DeploymentRefusal>;

export const newDeployment = (
  wish: DeploymentWish,
  parts: DeploymentParts,
  origin: RecordOrigin,
): Decision => {
  const wrong = [...wrongVersion(parts), ...wrongMachine(parts)];
  const { name, workflow_version_id, machine_id } = wish;
  const record: Deployment = {
    ...origin,
    workflow_id: parts.version?.workflow_id ?? '',
    workflow_version_id,
    machine_id,
    name,
    environment: wish.environment ?? 'production',
    ...(wish.gpu ? { gpu: wish.gpu } : {}),
    ...(typeof wish.concurrency_limit === 'number' ? { concurrency_limit: wish.concurrency_limit } : {}),
    run_timeout_s: wish.run_timeout_s ?? 3600,
    start_deadline_s: wish.start_deadline_s ?? 3600,
    retry: { attempts: wish.retry?.attempts ?? 3 },
    archived: false,
  };
  return decided(record, wrong);
};

/** Its runs keep what they were queued with. */
export const changedDeployment = (
  deployment: Deployment,
  change: DeploymentChange,
  parts: DeploymentParts,
): Decision => {
  const namesVersion = typeof change.workflow_version_id === 'string';
  const namesMachine = typeof change.machine_id === 'string';
  const wrong = [...(namesVersion ? wrongVersion(parts) : []), ...(namesMachine ? wrongMachine(parts) : [])];
  const { gpu, concurrency_limit, ...kept } = deployment;
  const optional = {
    gpu: change.gpu === undefined ? gpu : change.gpu,
    concurrency_limit: change.concurrency_limit === undefined ? concurrency_limit : change.concurrency_limit,
  };
  const record: Deployment = {
    ...kept,
    workflow_id: namesVersion && parts.version ? parts.version.workflow_id : deployment.workflow_id,
    workflow_version_id: change.workflow_version_id ?? deployment.workflow_version_id,
    machine_id: change.machine_id ?? deployment.machine_id,
    name: change.name ?? deployment.name,
    environment: change.environment ?? deployment.environment,
    ...(typeof optional.gpu === 'string' ? { gpu: optional.gpu } : {}),
    ...(typeof optional.concurrency_limit === 'number'
      ? { concurrency_limit: optional.concurrency_limit }
      : {}),
    run_timeout_s: change.run_timeout_s ?? deployment.run_timeout_s,
    start_deadline_s: change.start_deadline_s ?? deployment.start_deadline_s,
    retry: { attempts: change.retry?.attempts ?? deployment.retry.attempts },
    archived: change.archived ?? deployment.archived,
  };
  const [gone] = [...wrongVersion(parts), ...wrongMachine(parts)];
  const isRestored = deployment.archived && !record.archived;
  if (wrong.length === 0 && isRestored && gone)
    return {
      kind: 'refused',
      why: { kind: 'conflict', why: `The deployment cannot be restored: ${gone.why}` },
    };
  return decided(record, wrong);
};

/** As clients see it: every member is always there. */
export const shownDeployment = (deployment: Deployment): ShownDeployment => ({
  ...deployment,
  gpu: deployment.gpu ?? null,
  concurrency_limit: deployment.concurrency_limit ?? null,
});

const decided = (record: Deployment, wrong: readonly WrongMember[]): Decision => {
  const why = tooLongLife(record);
  const all = why === undefined ? wrong : [...wrong, { why }];
  return all.length === 0
    ? { kind: 'changed', record }
    : { kind: 'refused', why: { kind: 'invalid', wrong: all } };
};

const wrongVersion = ({ version, workflow }: DeploymentParts): WrongMember[] => {
  const member = 'workflow_version_id';
  if (!version) return [{ member, why: 'the organisation has no workflow version with this id' }];
  if (version.archived)
    return [{ member, why: 'the workflow version is archived. Restore it, or name another' }];
  if (workflow?.archived)
    return [{ member, why: 'the workflow of this version is archived. Restore it, or name another' }];
  return [];
};

const wrongMachine = ({ machine }: DeploymentParts): WrongMember[] => {
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
