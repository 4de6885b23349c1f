import type { JsonObject } from '@runledger/contracts/json';
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
}

type NoRun = Exclude<CurrentRun, { kind: 'found' }>;

/** Queues a run again, with its inputs or with others. @throws as `AcceptRun` does */
export type RerunRun = (
  given: QueueCaller,
  of: RunKey,
  inputs: JsonObject | undefined,
) => Promise<Acceptance | Extract<QueueDecision<NoRun | 'no_deployment'>, { kind: 'refused' }>>;

export const rerunRun =
  ({ accept, current, catalogue }: RerunRunOptions): RerunRun =>
  (given, of, inputs) =>
    accept(
      given,
      { kind: 'rerun', of: of.run_id, inputs },
      async (): Promise<QueueDecision<NoRun | 'no_deployment'>> => {
        const found = await current(of);
        if (found.kind !== 'found') return { kind: 'refused', why: found };
        const deployment = await catalogue.getDeployment(of.org_id, found.run.request.deployment_id);
        const decision = rerun(found.run, deployment, { inputs, user_id: given.user_id });
        return decision.kind === 'queued' ? decision : { kind: 'refused', why: 'no_deployment' };
      },
    );
