import type { Flow } from './fair-share.ts';

/** Where a flow is in each of the two heaps that order it; -1 when it is not in it. */
export type HeapIndices = [number, number];

/**
 * Flows that wait, in an order: a binary heap in which each flow knows its index. A flow that has changed is set again, and no two are
 * equal in order.
 */
export class FlowHeap<Of extends Flow> {
  readonly #flows: Of[] = [];
  /** Which of the indices of a flow is its index here. */
  readonly #own: 0 | 1;
  readonly #isBefore: (one: Flow, other: Flow) => boolean;

  constructor(own: 0 | 1, isBefore: (one: Flow, other: Flow) => boolean) {
    this.#own = own;
    this.#isBefore = isBefore;
  }

  /** The first answer of a flow, in their order and as far as this holds. Nothing changes meanwhile. */
  first<Answer>(
    ask: (flow: Of) => Answer | undefined,
    holds: (flow: Of) => boolean = () => true,
  ): Answer | undefined {
    const [top] = this.#flows;
    if (!top || !holds(top)) return undefined;
    return ask(top) ?? this.#firstBelow(ask, holds);
  }

  /** Adds the flow, or moves it to where it belongs since it has changed. */
  set(flow: Of): void {
    const known = flow.indices[this.#own];
    if (known === -1) {
      this.#flows.push(flow);
      this.#rise(flow, this.#flows.length - 1);
    } else if (this.#rise(flow, known) === known) this.#sink(flow, known);
  }

  delete(flow: Of): void {
    const index = flow.indices[this.#own];
    if (index === -1) return;
    flow.indices[this.#own] = -1;
    const last = this.#flows.pop();
    if (!last || last === flow) return;
    if (this.#rise(last, index) === index) this.#sink(last, index);
  }

  /** Below the top. What has been asked leaves its children to be asked, so nothing is taken out of the heap. */
  #firstBelow<Answer>(
    ask: (flow: Of) => Answer | undefined,
    holds: (flow: Of) => boolean,
  ): Answer | undefined {
    const flows = this.#flows;
    /** The next one is last. */
    const next: Of[] = [];
    const addChildren = (index: number): void => {
      for (const child of [flows[2 * index + 1], flows[2 * index + 2]])
        if (child) next.splice(this.#countBehind(next, child), 0, child);
    };
    addChildren(0);
    for (let flow = next.pop(); flow && holds(flow); flow = next.pop()) {
      const answer = ask(flow);
      if (answer !== undefined) return answer;
      addChildren(flow.indices[this.#own]);
    }
    return undefined;
  }

  /** How many of these, the last one first, come behind the flow. */
  #countBehind(sorted: readonly Of[], flow: Of): number {
    let low = 0;
    for (let high = sorted.length; low < high;) {
      const middle = (low + high) >> 1;
      const other = sorted[middle];
      if (other && this.#isBefore(flow, other)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Puts the flow at this index or above it, and returns where. */
  #rise(flow: Of, from: number): number {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = this.#flows[parent];
      if (!above || this.#isBefore(above, flow)) break;
      this.#put(above, index);
      index = parent;
    }
    this.#put(flow, index);
    return index;
  }

  /** Puts the flow at this index or below it. */
  #sink(flow: Of, from: number): void {
    let index = from;
    for (;;) {
      const left = this.#flows[2 * index + 1];
      const right = this.#flows[2 * index + 2];
      const child = left && right && this.#isBefore(right, left) ? right : left;
      if (!child || this.#isBefore(flow, child)) break;
      const below = child.indices[this.#own];
      this.#put(child, index);
      index = below;
    }
    this.#put(flow, index);
  }

  #put(flow: Of, index: number): void {
    this.#flows[index] = flow;
    flow.indices[this.#own] = index;
  }
}
