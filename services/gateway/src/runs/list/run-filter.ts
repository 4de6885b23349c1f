import { gpuModel } from '@runledger/contracts/gpu';
import { RunStatus } from '@runledger/contracts/http/runs/run-status';
import type { RunFilter } from '@runledger/contracts/http/runs/runs';
import type { Run } from '@runledger/contracts/fold/run';
import type { RunQuery } from '../../projection/core/list-query.ts';
import { textsIn, wordsIn } from '../../http/words-in.ts';

type Fields = Pick<RunFilter, 'deployment_id' | 'workflow_id' | 'schedule_id' | 'gpu' | 'origin' | 'tag'> & {
  readonly status?: string | readonly RunStatus[] | null | undefined;
};

/** The conditions of a filter in a query or a body, apart from times. */
export const runFilterOf = ({
  status,
  deployment_id,
  workflow_id,
  schedule_id,
  gpu,
  origin,
  tag,
}: Fields): Pick<
  RunQuery,
  'statuses' | 'deploymentId' | 'workflowId' | 'scheduleId' | 'gpu' | 'origin' | 'tags'
> => {
  const statuses = wordsIn(RunStatus, status)?.filter(isOfRuns);
  return {
    ...(statuses ? { statuses } : {}),
    ...(typeof deployment_id === 'string' ? { deploymentId: deployment_id.toLowerCase() } : {}),
    ...(typeof workflow_id === 'string' ? { workflowId: workflow_id.toLowerCase() } : {}),
    ...(typeof schedule_id === 'string' ? { scheduleId: schedule_id.toLowerCase() } : {}),
    ...(gpu ? { gpu: gpuModel(gpu) } : {}),
    ...(origin ? { origin } : {}),
    ...(tag ? { tags: textsIn(tag) } : {}),
  };
};

/** No run has the status `not-started` yet. */
const isOfRuns = (status: RunStatus): status is Run['status'] => status !== 'not-started';
