import type { JsonObject } from '@runledger/contracts/json';
import { BlobDamaged, type BlobStore } from '@runledger/blob-store/store/blob-store';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { QueueDecision } from '../queue/core/queue-run.ts';
import { rerun } from './core/rerun.ts';
import type { AcceptRun, Acceptance, QueueCaller } from '../queue/accept-run.ts';
import type { CurrentRun, ReadCurrentRun } from '../current/current-run.ts';

export interface RerunRunOptions {
  readonly accept: AcceptRun;
  readonly current: ReadCurrentRun;
  readonly catalogue: Catalogue;
  readonly workflows: Pick<BlobStore, 'renew'>;
}

type NoRun = Exclude<CurrentRun, { kind: 'found' }>;
/** `no_workflow`: its version was deleted, or the workflow is lost. */
type NotRerun = NoRun | 'no_deployment' | 'no_workflow';

/** Queues a run again, with its inputs or with others. @throws as `AcceptRun` does */
export type RerunRun = (
  given: QueueCaller,
  of: RunKey,
  inputs: JsonObject | undefined,
) => Promise<Acceptance | Extract<QueueDecision<NotRerun>, { kind: 'refused' }>>;

export const rerunRun =
  ({ accept, current, catalogue, workflows }: RerunRunOptions): RerunRun =>
  (given, of, inputs) =>
    accept(given, { kind: 'rerun', of: of.run_id, inputs }, async (): Promise<QueueDecision<NotRerun>> => {
      const found = await current(of);
      if (found.kind !== 'found') return { kind: 'refused', why: found };
      const deployment = await catalogue.getDeployment(of.org_id, found.run.request.deployment_id);
      const decision = rerun(found.run, deployment, { inputs, user_id: given.user_id });
      if (decision.kind === 'refused') return { kind: 'refused', why: 'no_deployment' };
      const { workflow_version_id: version, workflow_sha256: sha256 } = found.run.request;
      const isThere =
        (await catalogue.getWorkflowVersion(of.org_id, version)) !== undefined &&
        (await isKept(workflows, of.org_id, sha256));
      return isThere ? decision : { kind: 'refused', why: 'no_workflow' };
    });

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
