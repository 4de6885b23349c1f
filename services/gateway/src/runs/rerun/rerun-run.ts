import { drawInteger } from '../../catalogue/draw-integer.ts';
import type { JsonObject } from '@runledger/contracts/json';
import { BlobDamaged, type BlobStore } from '@runledger/blob-store/store/blob-store';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { InvalidRequest } from '../../http/refusal.ts';
import type { MissingPart, QueueDecision, WrongInputs } from '../queue/core/queue-run.ts';
import { invalidInputs } from '../queue/invalid-inputs.ts';
import type { InputSecrets } from '../secrets/input-secrets.ts';
import type { KeepSecrets } from '../secrets/kept-secrets.ts';
import type { KeepRunFiles } from '../queue/keep-run-files.ts';
import type { NoDeployment } from '../queue/queue-response.ts';
import { rerun } from './core/rerun.ts';
import type { AcceptRun, Acceptance, QueueCaller } from '../queue/accept-run.ts';
import type { CurrentRun, ReadCurrentRun } from '../current/current-run.ts';

export interface RerunRunOptions {
  readonly accept: AcceptRun;
  readonly current: ReadCurrentRun;
  readonly catalogue: Catalogue;
  readonly workflows: Pick<BlobStore, 'renew'>;
  readonly keepFiles: KeepRunFiles;
  readonly secrets: Pick<InputSecrets, 'seal'>;
  readonly keepSecrets: KeepSecrets;
}

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

export const rerunRun =
  ({ accept, current, catalogue, workflows, keepFiles, secrets, keepSecrets }: RerunRunOptions): RerunRun =>
  (given, of, inputs) =>
    accept(given, { kind: 'rerun', of: of.run_id, inputs }, async (): Promise<QueueDecision<NotRerun>> => {
      const found = await current(of);
      if (found.kind !== 'found') return { kind: 'refused', why: found };
      const { deployment_id, workflow_version_id, workflow_sha256 } = found.run.request;
      const [deployment, version] = await Promise.all([
        catalogue.getDeployment(of.org_id, deployment_id),
        catalogue.getWorkflowVersion(of.org_id, workflow_version_id),
      ]);
      const others = inputs && (await keepSecrets(found.run, inputs));
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

const notRerun = (why: MissingPart | WrongInputs): NotRerun => {
  if (typeof why === 'object') return { kind: 'invalid', problems: invalidInputs(why.wrong) };
  if (why === 'archived') return 'archived_deployment';
  return why === 'workflow version' ? 'no_workflow' : 'no_deployment';
};

/** Also keeps the workflow from being erased before the new run refers to it. */
const isKept = async (
  workflows: Pick<BlobStore, 'renew'>,
  org_id: string,
  sha256: string,
): Promise<boolean> => {
  try {
    return await workflows.renew(org_id, sha256);
  } catch (error) {
    if (error instanceof BlobDamaged) return false;
    throw error;
  }
};
