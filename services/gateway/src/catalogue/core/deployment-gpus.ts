import type { Deployment } from '@runledger/contracts/catalogue/records';
import { gpuModel } from '@runledger/contracts/gpu';
import type { GpuFallback } from '@runledger/contracts/gpu-fallbacks';
import type { Omitted } from '../store/core/decided-record.ts';
import type { WrongMember } from './deployment-rules.ts';

/** In order: a model and after how many seconds of waiting, or a name for one that is as early as the one before it. */
type RequestedGpus = readonly (string | { readonly gpu: string; readonly after_s: number })[];

/** The GPU models of a deployment, as a request names them: one, or all of them. Null clears all, and so does an empty list. */
export interface RequestedModels {
  readonly gpu?: string | Omitted;
  readonly gpus?: RequestedGpus | Omitted;
}

type Models = Pick<Deployment, 'gpu' | 'gpu_fallbacks'>;

/** Why this is no list of models in order. */
export const wrongGpus = ({ gpu, gpus }: RequestedModels): WrongMember[] => {
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
export const gpusAfter = ({ gpu, gpu_fallbacks }: Models, requested: RequestedModels): Models => {
  const given = requested.gpus ?? (typeof requested.gpu === 'string' ? [requested.gpu] : undefined);
  if (given === undefined) {
    const clears = requested.gpu === null || requested.gpus === null;
    return clears || gpu === undefined ? {} : { gpu, ...(gpu_fallbacks && { gpu_fallbacks }) };
  }
  const [first, ...rest] = inOrder(given);
  return first === undefined ? {} : { gpu: first.gpu, ...(rest.length > 0 && { gpu_fallbacks: rest }) };
};

/** A name alone is a model that may be taken as early as the one before it. */
const inOrder = (gpus: RequestedGpus): GpuFallback[] => {
  let after_s = 0;
  return gpus.map((given) => {
    if (typeof given === 'string') return { gpu: gpuModel(given), after_s };
    ({ after_s } = given);
    return { gpu: gpuModel(given.gpu), after_s };
  });
};

/** All of them; none for the default of the machine. */
export const shownGpus = ({ gpu, gpu_fallbacks = [] }: Models): GpuFallback[] =>
  gpu === undefined ? [] : [{ gpu, after_s: 0 }, ...gpu_fallbacks];
