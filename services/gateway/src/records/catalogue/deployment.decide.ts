import type { Deployment, Machine, RequestBounds } from '@runledger/contracts/catalogue/records';
import { MAX_PRIORITY, MIN_PRIORITY, type GpuFallback } from '@runledger/contracts/run-options';
import type {
  Deployment as ShownDeployment,
  DeploymentChange,
  NewDeployment,
} from '@runledger/contracts/http/catalogue/deployments';
import { gpuModel } from '@runledger/contracts/gpu';
import type { DecidedRecord, RecordIdentity } from './records.ts';
import {
  tooLongLife,
  wrongKept,
  wrongMachine,
  wrongMasks,
  wrongVersion,
  type DeploymentParts,
  type DeploymentRefusal,
  type WrongMember,
} from './deployment-rules.decide.ts';

type Decision = DecidedRecord<Deployment, DeploymentRefusal>;
type Settings = Omit<
  Deployment,
  keyof RecordIdentity | 'name' | 'workflow_id' | 'workflow_version_id' | 'machine_id' | 'archived'
>;

const DEFAULTS: Settings = {
  environment: 'production',
  run_timeout_s: 3600,
  start_deadline_s: 3600,
  retry: { attempts: 3 },
};

export const newDeployment = (
  { name, workflow_version_id, machine_id, ...requested }: NewDeployment,
  parts: DeploymentParts,
  origin: RecordIdentity,
): Decision => {
  const settings = settingsAfter(DEFAULTS, requested);
  const wrong = [
    ...wrongVersion(parts),
    ...wrongMachine(parts),
    ...tooLong(settings, parts),
    ...wrongGpus(requested),
    ...wrongKept(settings, parts),
    ...wrongMasks(requested),
  ];
  if (!parts.version || wrong.length > 0) return { kind: 'refused', why: { kind: 'invalid', wrong } };
  const { workflow_id } = parts.version;
  const names = { name, workflow_id, workflow_version_id, machine_id };
  return { kind: 'changed', record: { ...origin, ...names, ...settings, archived: false } };
};

/** Runs of the deployment keep the settings that they were queued with. */
export const changedDeployment = (
  deployment: Deployment,
  change: DeploymentChange,
  parts: DeploymentParts,
): Decision => {
  const { id, org_id, created_at } = deployment;
  const namesVersion = typeof change.workflow_version_id === 'string';
  const namesMachine = typeof change.machine_id === 'string';
  const record: Deployment = {
    id,
    org_id,
    created_at,
    name: change.name ?? deployment.name,
    workflow_id: namesVersion && parts.version ? parts.version.workflow_id : deployment.workflow_id,
    workflow_version_id: change.workflow_version_id ?? deployment.workflow_version_id,
    machine_id: change.machine_id ?? deployment.machine_id,
    ...settingsAfter(deployment, change),
    archived: change.archived ?? deployment.archived,
  };
  const wrong = [
    ...(namesVersion ? wrongVersion(parts) : []),
    ...(namesMachine ? wrongMachine(parts) : []),
    ...tooLong(record, parts),
    ...wrongGpus(change),
    ...(namesMachine || namesKept(change) ? wrongKept(record, parts) : []),
    ...wrongMasks(change),
  ];
  if (wrong.length > 0) return { kind: 'refused', why: { kind: 'invalid', wrong } };
  const [unusable] = [...wrongVersion(parts), ...wrongMachine(parts)];
  if (deployment.archived && !record.archived && unusable) {
    const why = `The deployment cannot be restored: ${unusable.why}`;
    return { kind: 'refused', why: { kind: 'not_restorable', why } };
  }
  return { kind: 'changed', record };
};

/** Null clears an optional setting, and does not change any other setting. */
const settingsAfter = (before: Settings, requested: DeploymentChange): Settings => {
  const labels = [...new Set(requested.labels ?? before.labels)];
  const warmWait = requested.warm_wait_s ?? before.warm_wait_s;
  const limit =
    requested.concurrency_limit === undefined ? before.concurrency_limit : requested.concurrency_limit;
  const weight = requested.weight ?? before.weight;
  const isStrict = requested.strict_inputs ?? before.strict_inputs === true;
  const bounds = boundsAfter(before.bounds, requested.bounds);
  const ifNoOutput = requested.if_no_output ?? before.if_no_output ?? 'warn';
  const masks = requested.log_masks === undefined ? before.log_masks : requested.log_masks;
  return {
    environment: requested.environment ?? before.environment,
    ...gpusAfter(before, requested),
    ...(labels.length > 0 && { labels }),
    ...(warmWait !== undefined && warmWait > 0 && { warm_wait_s: warmWait }),
    ...keptAfter(before, requested),
    ...(typeof limit === 'number' ? { concurrency_limit: limit } : {}),
    ...(weight !== undefined && weight !== 1 && { weight }),
    ...(isStrict && { strict_inputs: true }),
    run_timeout_s: requested.run_timeout_s ?? before.run_timeout_s,
    start_deadline_s: requested.start_deadline_s ?? before.start_deadline_s,
    ...(bounds && { bounds }),
    retry: retryAfter(before.retry, requested.retry),
    ...(ifNoOutput !== 'warn' && { if_no_output: ifNoOutput }),
    ...(masks && { log_masks: masks }),
  };
};

const namesKept = ({ keep_prepared, keep_loaded, archived }: DeploymentChange): boolean =>
  [keep_prepared, keep_loaded].some((kept) => typeof kept === 'number') || archived === false;

const keptAfter = (
  before: Settings,
  requested: DeploymentChange,
): Pick<Settings, 'keep_prepared' | 'keep_loaded'> => {
  const keep_prepared = requested.keep_prepared ?? before.keep_prepared ?? 0;
  const keep_loaded = requested.keep_loaded ?? before.keep_loaded ?? 0;
  return { ...(keep_prepared > 0 && { keep_prepared }), ...(keep_loaded > 0 && { keep_loaded }) };
};

const retryAfter = (
  before: Deployment['retry'],
  requested: DeploymentChange['retry'],
): Deployment['retry'] => {
  const on = requested?.on ?? before.on;
  return { attempts: requested?.attempts ?? before.attempts, ...(on && { on }) };
};

const boundsAfter = (
  before: RequestBounds | undefined,
  requested: DeploymentChange['bounds'],
): RequestBounds | undefined => {
  if (requested === undefined) return before;
  if (requested === null) return undefined;
  const after = Object.entries({ ...before, ...requested }).filter(([, bound]) => typeof bound === 'number');
  return after.length === 0 ? undefined : Object.fromEntries(after);
};

const tooLong = (settings: Settings, { longestRunS }: DeploymentParts): WrongMember[] => {
  const why = tooLongLife({ ...settings, delay_s: settings.bounds?.max_delay_s ?? 0 }, longestRunS);
  return why === undefined ? [] : [{ why }];
};

/** As clients see it: with every member. */
export const deploymentResponse = ({ gpu_fallbacks, ...deployment }: Deployment): ShownDeployment => ({
  ...deployment,
  gpu: deployment.gpu ?? null,
  gpus: shownGpus({ ...deployment, ...(gpu_fallbacks && { gpu_fallbacks }) }),
  labels: deployment.labels ?? [],
  warm_wait_s: deployment.warm_wait_s ?? 0,
  keep_prepared: deployment.keep_prepared ?? 0,
  keep_loaded: deployment.keep_loaded ?? 0,
  concurrency_limit: deployment.concurrency_limit ?? null,
  weight: deployment.weight ?? 1,
  strict_inputs: deployment.strict_inputs ?? false,
  bounds: {
    min_priority: deployment.bounds?.min_priority ?? MIN_PRIORITY,
    max_priority: deployment.bounds?.max_priority ?? MAX_PRIORITY,
    max_delay_s: deployment.bounds?.max_delay_s ?? null,
  },
  if_no_output: deployment.if_no_output ?? 'warn',
  log_masks: deployment.log_masks ?? null,
});

/** A deployment on its machine. */
export interface Placed {
  readonly deployment: Deployment;
  readonly machine: Machine;
}

/** The GPU models of runs that request none, in order of preference. */
export const gpusOf = ({ deployment: { gpu, gpu_fallbacks = [] }, machine }: Placed): Machine['gpu'][] =>
  gpu === undefined ? [machine.gpu] : [gpu, ...gpu_fallbacks.map((fallback) => fallback.gpu)];

type Models = Pick<Deployment, 'gpu' | 'gpu_fallbacks'>;

/** Why this is no list of models in order. */
const wrongGpus = ({ gpu, gpus }: DeploymentChange): WrongMember[] => {
  const member = 'gpus';
  if (!gpus) return [];
  if (typeof gpu === 'string')
    return [{ member, why: 'gpu is the first one of gpus. Name one of these two members' }];
  const seen = new Set<string>();
  let latestS = 0;
  return gpus.flatMap((given, index): WrongMember[] => {
    const [name, after_s] = typeof given === 'string' ? [given, latestS] : [given.gpu, given.after_s];
    const model = name.toUpperCase();
    const isKnown = seen.has(model);
    seen.add(model);
    if (isKnown) return [{ member, index, why: `${model} is there twice` }];
    if (index === 0 && after_s > 0)
      return [{ member, index, why: 'the first model is for the beginning, so it has no after_s' }];
    if (after_s < latestS)
      return [{ member, index, why: `its after_s is below ${latestS}, that of the model before it` }];
    latestS = after_s;
    return [];
  });
};

/** Either of the two members sets the whole list. */
const gpusAfter = ({ gpu, gpu_fallbacks }: Models, requested: DeploymentChange): Models => {
  const given = requested.gpus ?? (typeof requested.gpu === 'string' ? [requested.gpu] : undefined);
  if (given === undefined) {
    const clears = requested.gpu === null || requested.gpus === null;
    return clears || gpu === undefined ? {} : { gpu, ...(gpu_fallbacks && { gpu_fallbacks }) };
  }
  const [first, ...rest] = inOrder(given);
  return first === undefined ? {} : { gpu: first.gpu, ...(rest.length > 0 && { gpu_fallbacks: rest }) };
};

/** A name alone is a model that may be taken as early as the one before it. */
const inOrder = (gpus: NonNullable<DeploymentChange['gpus']>): GpuFallback[] => {
  let after_s = 0;
  return gpus.map((given) => {
    if (typeof given === 'string') return { gpu: gpuModel(given), after_s };
    ({ after_s } = given);
    return { gpu: gpuModel(given.gpu), after_s };
  });
};

/** All of them; none for the default of the machine. */
const shownGpus = ({ gpu, gpu_fallbacks = [] }: Models): GpuFallback[] =>
  gpu === undefined ? [] : [{ gpu, after_s: 0 }, ...gpu_fallbacks];
