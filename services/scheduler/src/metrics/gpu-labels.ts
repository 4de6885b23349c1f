import type { GpuModel } from '@runledger/contracts/gpu';

/** The label of the models that have none of their own. No model is written in lower case. */
const OTHER_GPU = 'other';

/** Far more models than a fleet has. Each value of a label is a time series for as long as the process lives. */
const MAX_MODELS = 100;

/**
 * The values of the label `gpu`. Clients name any model, so only a model that an executor has, or had since this process
 * started, is a value of its own.
 */
export class GpuLabels {
  readonly #models = new Set<GpuModel>();

  /** Called with each model that an executor has. */
  admit(gpu: GpuModel): void {
    if (this.#models.size < MAX_MODELS) this.#models.add(gpu);
  }

  of(gpu: GpuModel): string {
    return this.#models.has(gpu) ? gpu : OTHER_GPU;
  }

  all(): readonly string[] {
    return [...this.#models, OTHER_GPU];
  }
}
