import type { Deployment as DeploymentRecord, Machine } from '@runledger/contracts/catalogue/records';
import { WARNING_HEADER } from '@runledger/contracts/http/headers/warning';
import type { ShortageResponse } from '@runledger/contracts/requests/shortage';
import { runnerKindOf } from '@runledger/contracts/runners/runner-kinds';
import type { Context } from 'koa';
import { SchedulerUnavailable, type SchedulerClient } from '../scheduler/scheduler-client.ts';
import { pathText } from '../validation/ignored-members.ts';

interface Placed {
  readonly deployment: DeploymentRecord;
  readonly machine: Machine;
}

/** Says in the response when no executor that is there could take runs of a deployment. Nothing without a scheduler, who knows it. */
export const warnOfShortage = async (
  ctx: Context,
  scheduler: Pick<SchedulerClient, 'shortage'>,
  placed: Placed,
): Promise<void> => {
  const { deployment, machine } = placed;
  try {
    const { shortage } = await scheduler.shortage({
      org_id: deployment.org_id,
      gpus: gpusOf(placed),
      machine_id: machine.id,
      machine_name: machine.name,
      runner: machine.runner,
      labels: deployment.labels ?? [],
    });
    if (shortage !== null) ctx.append(WARNING_HEADER, sentence(shortage, placed));
  } catch (error) {
    if (!(error instanceof SchedulerUnavailable)) throw error;
  }
};

const gpusOf = ({ deployment: { gpu, gpu_fallbacks = [] }, machine }: Placed): Machine['gpu'][] =>
  gpu === undefined ? [machine.gpu] : [gpu, ...gpu_fallbacks.map((fallback) => fallback.gpu)];

/** It has no comma, which separates warnings. */
const sentence = (shortage: NonNullable<ShortageResponse['shortage']>, placed: Placed): string =>
  `runs of this deployment will wait: ${why(shortage, placed)}`;

const why = (shortage: NonNullable<ShortageResponse['shortage']>, placed: Placed): string => {
  const { deployment, machine } = placed;
  const gpus = gpusOf(placed).join(' or ');
  switch (shortage) {
    case 'no_executor':
      return 'no executor is there now';
    case 'no_gpu':
      return `no executor that is there has the GPU ${gpus}`;
    case 'not_served':
      return `no executor that has the GPU ${gpus} serves machine ${named(machine.name)}`;
    case 'no_runner': {
      const offers = runnerKindOf(machine.runner).offers(machine.runner, named);
      return `no executor that has the GPU ${gpus} and serves the machine ${offers}`;
    }
    case 'no_label':
      return `no executor that could execute them has the labels ${(deployment.labels ?? []).map(named).join(' and ')}`;
  }
};

const named = (name: string): string => pathText([name]);
