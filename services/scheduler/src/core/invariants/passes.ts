/** How often somebody who waits was passed by one of the others. */
export interface Pass {
  readonly waiting: string;
  readonly by: string;
  readonly times: number;
}

/** Of flows with equal weights, whoever waits without a slot is passed by so many runs of each other one. */
export const MOST_PASSES = 2;

/** Counts who passes whom, of organisations that share the slots of a GPU model, or of the deployments of one. */
export class Passes {
  readonly #passes = new Map<string, Map<string, number>>();

  /** A run of one starts, while these wait without a slot. Returns a pass beyond the bound. */
  start(by: string, waiting: Iterable<string>): Pass | undefined {
    let beyond: Pass | undefined;
    for (const flow of waiting) {
      if (flow === by) continue;
      const passes = this.#passes.get(flow) ?? new Map<string, number>();
      this.#passes.set(flow, passes);
      const times = (passes.get(by) ?? 0) + 1;
      passes.set(by, times);
      if (times > MOST_PASSES) beyond = { waiting: flow, by, times };
    }
    return beyond;
  }

  /** It does not wait any more, or has a slot. */
  forget(flow: string): void {
    this.#passes.delete(flow);
  }
}
