import type { Api } from '../system/measured-standalone.ts';
import { closedLoop, type ClosedLoop } from './closed-loop.ts';

export const QUEUE = '/run/deployment/queue';

/** What a request to queue a run of a deployment says: inputs of about 200 bytes. */
export const queueBody = (deployment_id: string): object => ({
  deployment_id,
  inputs: {
    prompt: 'a lighthouse on a cliff at dusk, volumetric light, 35mm, high detail',
    negative_prompt: 'blurry, low quality, watermark',
    seed: 1_234_567,
    steps: 30,
    cfg: 7.5,
    width: 1_024,
    height: 1_024,
    sampler: 'euler',
  },
});

export interface QueuedRuns {
  /** In the order of the answers. */
  readonly ids: readonly string[];
  readonly loop: ClosedLoop;
}

/** Queues so many runs over 64 connections, as fast as is answered. */
export const queueRuns = async (api: Api, deployment: string, amount: number): Promise<QueuedRuns> => {
  const ids: string[] = [];
  const onAnswer = (answer: string): void => {
    ids.push((JSON.parse(answer) as { readonly run_id: string }).run_id);
  };
  const loop = await closedLoop(
    api,
    { paths: [QUEUE], bodies: [queueBody(deployment)], onAnswer },
    { amount },
  );
  return { ids, loop };
};
