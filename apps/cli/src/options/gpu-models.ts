import { gpuModel, GPU_MODEL_RULE, parseGpuModel } from '@runledger/contracts/gpu';
import { CommandError } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import { secondsOf } from './numbers.ts';

/** A model alone may be taken as early as the one before it. */
export type GpuStep = string | { readonly gpu: string; readonly after_s: number };

/**
 * The models of `L4, A10G:60, T4:5m`, in order of preference, each with the time of waiting after which it may be taken; undefined for
 * a missing option.
 *
 * @throws CommandError
 */
export const gpuModelsOf = (option: string, text: string | undefined): GpuStep[] | undefined =>
  text?.split(',').map((step) => {
    const [name = '', time, ...more] = step.split(':').map((part) => part.trim());
    if (parseGpuModel(name) === undefined)
      throw new CommandError(
        name === ''
          ? `${option} ${plain(text)} has an empty place. Write models with commas, such as L4,A10G:60.`
          : `${option}: ${plain(name)} is not a GPU model: ${GPU_MODEL_RULE}.`,
      );
    if (more.length > 0)
      throw new CommandError(
        `${option}: ${plain(step.trim())} has more than one time. Write MODEL or MODEL:TIME, such as A10G:60.`,
      );
    const after_s = secondsOf(`${option} ${gpuModel(name)}:`, time);
    return after_s === undefined ? name : { gpu: name, after_s };
  });

/** The first one. */
export const firstModelOf = (models: readonly GpuStep[] | undefined): string | undefined => {
  const [first] = models ?? [];
  return typeof first === 'object' ? first.gpu : first;
};
