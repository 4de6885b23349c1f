import { CreateRunResponse, IdempotencyKey } from '@runledger/contracts/http/runs/queue-run';
import { RerunRequest } from '@runledger/contracts/http/runs/runs';
import { Type } from 'typebox';
import type { JsonObject } from '@runledger/contracts/json';
import { BlobDamaged, type BlobStore } from '@runledger/blob-store/blob-store';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  acceptedRun,
  noDeployment,
  queueCallerOf,
  type NoDeployment,
  drawInteger,
} from './facts/deployment-queue.ts';
import { inputsProblems, invalidInputs } from './facts/check-inputs.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { invalidRequest, Refused, type InvalidRequest } from '../door/refusal.ts';
import { notFoundRun, RunPath, runKeyOf, runLinks } from './run-path.ts';
import { own } from '../door/compiled.ts';
import { catalogue } from '../records/catalogue/catalogue.ts';
import type { NotQueued, QueueDecision } from './facts/queue-run.decide.ts';
import { withSecretsOf } from './facts/input-secrets.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import type { WorkflowVersion } from '@runledger/contracts/catalogue/records';
import type { Run } from '@runledger/contracts/fold/run';
import { fitInputs, type DrawInteger } from '../records/catalogue/input-values.decide.ts';
import type { Acceptance, QueueCaller } from './facts/accept-run.ts';
import { currentRun, type NoRun } from './facts/current-run.ts';

const rerunOperation = operation({
  id: 'rerunRun',
  method: 'POST',
  path: '/run/{run_id}/rerun',
  tag: 'Runs',
  summary: 'Run it again',
  description:
    'Queues another run with the inputs of this run, or with others. It has the version, the GPU, the webhook and all settings of this run, also when the deployment has changed. `rerun_of` names this run.',
  scope: 'runs:write',
  audit: { unrecorded: 'the fact that it stores names the user' },
  request: {
    path: RunPath,
    headers: Type.Object({ 'Idempotency-Key': Type.Optional(IdempotencyKey) }),
    body: RerunRequest,
  },
  bodyOptional: true,
  response: {
    status: 200,
    description: 'The new run is queued.',
    body: CreateRunResponse,
    links: runLinks('/run_id'),
  },
  refusals: [404, 409, 507],
});

export const rerunRoute = (kit: Kit, runs: Runs): Route =>
  route(
    rerunOperation,
    async ({ path, headers, body }, caller, ctx) => {
      // The body may be missing, which its type does not say.
      const inputs = (body as typeof body | undefined)?.inputs ?? undefined;
      const given = queueCallerOf(ctx, caller, headers);
      const queued = await rerunRun(kit, runs, given, runKeyOf(path, caller), inputs);
      if (queued.kind !== 'refused') return acceptedRun(kit, queued);
      const { why } = queued;
      if (why === 'no_workflow') {
        throw new Refused({
          code: 'workflow_gone',
          why: 'The workflow version of this run was deleted, or its workflow is lost, so nothing was queued: queue the deployment instead',
        });
      }
      if (typeof why === 'string') throw noDeployment(why);
      if (why.kind === 'invalid') throw invalidRequest(...why.problems);
      throw notFoundRun(why);
    },
    ({ body }) => inputsProblems(own(body, 'inputs'), kit.config),
  );

/** `no_workflow`: its version was deleted, or the workflow is lost. */
type NotRerun = NoRun | NoDeployment | 'no_workflow' | InvalidRequest;

export type RerunResult = Acceptance | NotQueued<NotRerun>;

/** Queues a run again, with its inputs or with others. @throws as `AcceptRun` does */
export const rerunRun = (
  kit: Kit,
  runs: Runs,
  given: QueueCaller,
  of: RunKey,
  inputs: JsonObject | undefined,
): Promise<RerunResult> => {
  const { log, stores } = kit;
  const { deployments, versions } = catalogue(log);
  const decide = async (): Promise<QueueDecision<NotRerun>> => {
    const found = await currentRun(kit, runs, true)(of);
    if (found.kind !== 'found') return { kind: 'refused', why: found };
    const { deployment_id, workflow_version_id, workflow_sha256 } = found.run.request;
    const [deployment, version] = await Promise.all([
      deployments.get(of.org_id, deployment_id),
      versions.get(of.org_id, workflow_version_id),
    ]);
    const others = inputs && (await withSecretsOf(found.run, inputs, stores.blobs, runs.secrets));
    const by = { inputs: others, user_id: given.user_id, draw: drawInteger };
    const decision = rerun(found.run, { deployment, version }, by);
    if (decision.kind === 'refused') return decision;
    const isThere = await isKept(stores.workflows, of.org_id, workflow_sha256);
    if (!isThere) return { kind: 'refused', why: 'no_workflow' };
    return runs.prepare(of.org_id, decision.run, version);
  };
  return runs.accept(given, { kind: 'rerun', of: of.run_id, inputs }, decide);
};

/** Also keeps the workflow from being erased before the new run refers to it. */
const isKept = async (workflows: BlobStore, org_id: string, sha256: string): Promise<boolean> => {
  try {
    return await workflows.renew(org_id, sha256);
  } catch (error) {
    if (error instanceof BlobDamaged) return false;
    throw error;
  }
};

/**
 * A rerun repeats the original run, with the settings and the version that it was queued with. `now`: what the catalogue has of its deployment
 * and version; undefined for what is missing. `by.inputs`: instead of the original ones.
 */
export const rerun = (
  { run_id, request }: Run,
  now: {
    readonly deployment: { readonly archived: boolean } | undefined;
    readonly version: { readonly inputs: WorkflowVersion['inputs'] } | undefined;
  },
  by: { readonly inputs: JsonObject | undefined; readonly user_id: string; readonly draw: DrawInteger },
): QueueDecision<NotRerun> => {
  if (!now.deployment) return { kind: 'refused', why: 'no_deployment' };
  if (now.deployment.archived) return { kind: 'refused', why: 'archived_deployment' };
  if (!now.version) return { kind: 'refused', why: 'no_workflow' };
  // The inputs of the original run fitted when it was queued.
  const fitted = by.inputs && fitInputs(now.version.inputs, by.inputs, by.draw);
  if (fitted?.kind === 'wrong')
    return { kind: 'refused', why: { kind: 'invalid', problems: invalidInputs(fitted.wrong) } };
  // The idempotency key, the schedule and the number belong to what queued the original run, and which inputs are files to its inputs. When it started was its own time.
  const {
    idempotency: _key,
    schedule: _schedule,
    number: _number,
    file_inputs: _files,
    delay_s: _delay,
    start_at: _start,
    secret_inputs,
    inputs,
    inputs_blob,
    ...settings
  } = request;
  // Those of the original run are sealed already.
  const sealed = fitted || !secret_inputs ? {} : { secret_inputs };
  return {
    kind: 'queued',
    run: {
      settings: { ...settings, ...sealed, user_id: by.user_id, origin: 'replay', rerun_of: run_id },
      inputs: fitted ? { kind: 'inline', value: fitted.inputs } : readInlineOrBlob(inputs, inputs_blob),
    },
  };
};
