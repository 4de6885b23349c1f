import { Type, type Static } from 'typebox';
import { GpuModel } from './gpu.ts';
import { MAX_DEADLINE_S } from './limits.ts';

/** The most GPU models that a run may be placed on. */
export const MAX_GPUS = 8;

/** After so many seconds of waiting the run may also take a slot of this model; 0 for at once. */
export const GpuFallback = Type.Object({
  gpu: GpuModel,
  after_s: Type.Number({
    minimum: 0,
    maximum: MAX_DEADLINE_S,
    description: 'Seconds of waiting after which the run may take a slot of this model; 0 for at once.',
    examples: [60],
  }),
});
export type GpuFallback = Static<typeof GpuFallback>;

/** In order: an earlier one is preferred, and no later one has a shorter time. None is the first model, or there twice. */
export const GpuFallbacks = Type.Array(GpuFallback, { minItems: 1, maxItems: MAX_GPUS - 1 });

/** All models that a request allows, in order. */
export const modelsOf = ({
  gpu,
  gpu_fallbacks = [],
}: {
  readonly gpu: GpuModel;
  readonly gpu_fallbacks?: readonly GpuFallback[];
}): GpuModel[] => [gpu, ...gpu_fallbacks.map((fallback) => fallback.gpu)];
