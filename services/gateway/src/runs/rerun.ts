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
import { catalogue as openCatalogue } from '../records/catalogue/catalogue.ts';
import type { MissingPart, QueueDecision, WrongInputs } from './facts/queue-run.decide.ts';
import { keepSecrets } from './facts/input-secrets.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { rerun } from './rerun.decide.ts';
import type { Acceptance, QueueCaller } from './facts/accept-run.ts';
import type { CurrentRun } from './facts/current-run.ts';

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

export const rerunRoute = (kit: Kit, runs: Runs): Route => {
  const rerun = rerunRun(kit, runs);
  return route(
    rerunOperation,
    async ({ path, headers, body }, caller, ctx) => {
      // The body may be missing, which its type does not say.
      const inputs = (body as typeof body | undefined)?.inputs ?? undefined;
      const queued = await rerun(queueCallerOf(ctx, caller, headers), runKeyOf(path, caller), inputs);
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
};

type NoRun = Exclude<CurrentRun, { kind: 'found' }>;
/** `no_workflow`: its version was deleted, or the workflow is lost. */
type NotRerun = NoRun | NoDeployment | 'no_workflow' | InvalidRequest;

export type RerunResult = Acceptance | Extract<QueueDecision<NotRerun>, { kind: 'refused' }>;

/** Queues a run again, with its inputs or with others. @throws as `AcceptRun` does */
export type RerunRun = (
  given: QueueCaller,
  of: RunKey,
  inputs: JsonObject | undefined,
) => Promise<RerunResult>;

export const rerunRun = (
  { log, stores: { blobs, workflows } }: Kit,
  { accept, confirmed, keepFiles, secrets }: Runs,
): RerunRun => {
  const catalogue = openCatalogue(log);
  const withKeptSecrets = keepSecrets(blobs, secrets);
  return (given, of, inputs) =>
    accept(given, { kind: 'rerun', of: of.run_id, inputs }, async (): Promise<QueueDecision<NotRerun>> => {
      const found = await confirmed(of);
      if (found.kind !== 'found') return { kind: 'refused', why: found };
      const { deployment_id, workflow_version_id, workflow_sha256 } = found.run.request;
      const [deployment, version] = await Promise.all([
        catalogue.getDeployment(of.org_id, deployment_id),
        catalogue.getWorkflowVersion(of.org_id, workflow_version_id),
      ]);
      const others = inputs && (await withKeptSecrets(found.run, inputs));
      const decision = rerun(
        found.run,
        { deployment, version },
        { inputs: others, user_id: given.user_id, draw: drawInteger },
      );
      if (decision.kind === 'refused') return { kind: 'refused', why: notRerun(decision.why) };
      const isThere = await isKept(workflows, of.org_id, workflow_sha256);
      if (!isThere) return { kind: 'refused', why: 'no_workflow' };
      const kept = await keepFiles(of.org_id, decision.run, version);
      return kept.kind === 'queued'
        ? { ...kept, run: secrets.seal(of.org_id, kept.run, version?.inputs ?? []) }
        : kept;
    });
};

const notRerun = (why: MissingPart | WrongInputs): NotRerun => {
  if (typeof why === 'object') return { kind: 'invalid', problems: invalidInputs(why.wrong) };
  if (why === 'archived') return 'archived_deployment';
  return why === 'workflow version' ? 'no_workflow' : 'no_deployment';
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
