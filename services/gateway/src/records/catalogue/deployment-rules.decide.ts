import { MAX_RETRY_AFTER_S } from '@runledger/contracts/events/run-error';
import { compileMasks } from '@runledger/contracts/log-masks';
import type { Deployment, Machine, NumberedVersion, Workflow } from '@runledger/contracts/catalogue/records';

/** The records that a deployment names; undefined for those that the organisation does not have. */
export interface DeploymentParts {
  readonly machine: Pick<Machine, 'archived' | 'runner'> | undefined;
  readonly version: Pick<NumberedVersion, 'workflow_id' | 'archived'> | undefined;
  /** Why the machine cannot execute the version; left out when it can, and where one of them is not made yet. */
  readonly apart?: string;
  /** Of the version. */
  readonly workflow: Pick<Workflow, 'archived'> | undefined;
  /** Seconds that a run may live now. */
  readonly longestRunS: number;
  /** Slots that the organisation may have kept ready, and those of its other deployments. */
  readonly kept: { readonly limit: number; readonly others: number };
}

export interface WrongMember {
  /** Undefined when several members together are wrong. */
  readonly member?: 'machine_id' | 'workflow_version_id' | 'gpus' | 'log_masks' | KeptMember;
  /** Of the member, if it is a list. */
  readonly index?: number;
  readonly why: string;
}

export type DeploymentRefusal =
  | { readonly kind: 'invalid'; readonly wrong: readonly WrongMember[] }
  /** The present state forbids it, not the request itself. */
  | { readonly kind: 'not_restorable'; readonly why: string };

/** Why a deployment cannot use its version. */
export const wrongVersion = ({
  version,
  workflow,
}: Pick<DeploymentParts, 'version' | 'workflow'>): WrongMember[] => {
  const member = 'workflow_version_id';
  if (!version) return [{ member, why: 'the organisation has no workflow version with this id' }];
  if (version.archived)
    return [{ member, why: 'the workflow version is archived. Restore it, or name another' }];
  if (workflow?.archived)
    return [{ member, why: 'the workflow of this version is archived. Restore it, or name another' }];
  return [];
};

/** Why a deployment cannot use its machine. */
export const wrongMachine = ({ machine, apart: why }: DeploymentParts): WrongMember[] => {
  const member = 'machine_id';
  if (!machine) return [{ member, why: 'the organisation has no machine with this id' }];
  if (machine.archived) return [{ member, why: 'the machine is archived. Restore it, or name another' }];
  return why === undefined ? [] : [{ member, why }];
};

/** Why this machine cannot execute this version: one of them is of code, or of code for ComfyUI, and the other one is not. */
export const whyApart = (
  { code }: Pick<NumberedVersion, 'code'>,
  { runner }: Pick<Machine, 'runner'>,
): string | undefined => {
  if (code === undefined)
    return runner.kind === 'code'
      ? 'the machine runs the code of versions, and this version has none: name another machine'
      : undefined;
  const { server } = code;
  const wanted = JSON.stringify({ kind: 'code', ...(server !== undefined && { server }) });
  if (runner.kind !== 'code')
    return `the version has code, and the machine another runner: name one with ${wanted}`;
  if (runner.server === server) return undefined;
  return server === undefined
    ? `the machine runs versions for ComfyUI, and this version is none: name one with ${wanted}`
    : `the version is for ComfyUI, and the machine runs other code: name one with ${wanted}`;
};

type KeptMember = 'keep_prepared' | 'keep_loaded';

/** The slots that a deployment has kept ready: one that is loaded is prepared. */
export const keptSlots = ({
  archived,
  keep_prepared = 0,
  keep_loaded = 0,
}: Pick<Deployment, KeptMember> & { readonly archived?: boolean }): number =>
  archived === true ? 0 : Math.max(keep_prepared, keep_loaded);

/** Why a deployment cannot have so much kept ready. */
export const wrongKept = (
  deployment: Parameters<typeof keptSlots>[0],
  { machine, kept: { limit, others } }: DeploymentParts,
): WrongMember[] => {
  const slots = keptSlots(deployment);
  if (slots === 0) return [];
  const member = (deployment.keep_loaded ?? 0) > 0 ? 'keep_loaded' : 'keep_prepared';
  if (machine && machine.runner.kind !== 'code')
    return [
      {
        member,
        why: `executors keep ready what comes with a version, and the machine has the runner ${machine.runner.kind}: leave it out, or deploy a folder with code`,
      },
    ];
  if (slots + others <= limit) return [];
  return [
    {
      member,
      why:
        `an organisation may have ${limit} slots kept ready, and its other deployments have ${others}: ask for ${Math.max(limit - others, 0)} or fewer here, ` +
        'lower another one, or ask the operator for a higher RUNLEDGER_KEPT_SLOTS_MAX',
    },
  ];
};

/** Why patterns cannot mask logs. */
export const wrongMasks = ({
  log_masks: masks,
}: {
  readonly log_masks?: readonly string[] | null | undefined;
}): WrongMember[] => {
  const compiled = compileMasks(masks ?? []);
  if (compiled.kind === 'compiled') return [];
  const { at: index, why } = compiled;
  return [{ member: 'log_masks', ...(index !== undefined && { index }), why }];
};

interface LifeOfRun extends Pick<Deployment, 'start_deadline_s' | 'run_timeout_s' | 'retry'> {
  /** Seconds before which it does not start. */
  readonly delay_s: number;
}

/** Why the runs of a deployment could outlive their events in the log; undefined when they cannot. */
export const tooLongLife = (
  { start_deadline_s, run_timeout_s, retry, delay_s }: LifeOfRun,
  longestRunS: number,
): string | undefined => {
  const waits = (retry.on ?? []).length === 0 ? 0 : MAX_RETRY_AFTER_S * (retry.attempts - 1);
  const longest = delay_s + (start_deadline_s + run_timeout_s) * retry.attempts + waits;
  if (longest <= longestRunS) return undefined;
  return (
    `A run of this deployment could live ${Math.ceil(longest)} s (${delay_s > 0 ? `a delay of ${Math.ceil(delay_s)} s, then ` : ''}start deadline and run timeout, for each attempt, and the waits between them), and the log keeps ` +
    `events long enough for ${Math.max(Math.floor(longestRunS), 0)} s, with the time for its notification. Lower ${delay_s > 0 ? 'the delay, ' : ''}the deadline, the timeout or the attempts, or ` +
    'ask the operator for a higher runsMaxAgeMs or a lower RUNLEDGER_WEBHOOK_GIVE_UP_S.'
  );
};
