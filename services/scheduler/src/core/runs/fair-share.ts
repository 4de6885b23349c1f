import { IndexedPriorityQueue } from './indexed-priority-queue.ts';

/** One of those who share the slots of a GPU model: an organisation, or a deployment of one. */
export interface Flow {
  readonly name: string;
  /** Its part of the slots, beside the weights of the others. */
  weight: number;
  /** How many of its runs wait. */
  waiting: number;
  /** How many slots it holds. */
  slots: number;
  /** The virtual time from which it is served next. */
  startTag: number;
  /** When it began to wait or was served, whatever was last, as a count. */
  since: number;
}

export const newFlow = (name: string, weight: number): Flow => ({
  name,
  weight,
  waiting: 0,
  slots: 0,
  startTag: 0,
  since: 0,
});

export interface FlowChange {
  readonly waiting?: number;
  readonly slots?: number;
  /** It gets a slot because it is next. */
  readonly isServed?: boolean;
  /** From now on. */
  readonly weight?: number;
}

/**
 * Which flow gets the next slot, of those that wait. A flow that holds less than its fair share, rounded down, is next, the lowest
 * share first (max-min fairness). The fair share is its part by weight of the slots that all waiting flows hold. Beyond that, start-time
 * fair queueing (Goyal, Vin and Cheng, 1996) serves them by weight, so that also a single slot is shared. Of equal start tags a
 * flow with a single run goes first, and then the one that has waited longest. A flow that does not wait saves up nothing; what it had
 * before the others is remembered until they have had the same.
 */
export class FairShare<Of extends Flow> {
  readonly #flows = new Map<string, Of>();
  readonly #byShare = new SortedFlows<Of>(byShare);
  readonly #byStartTag = new SortedFlows<Of>(byStartTag);
  /** Those without a run, by start tag. */
  readonly #idle = new IndexedPriorityQueue<Of>();
  /** Of the flows that wait. */
  #slots = 0;
  #weight = 0;
  /** The highest start tag that was served. */
  #virtualTime = 0;
  #count = 0;

  /** Those that have runs, or had some lately. */
  flows(): IteratorObject<Of> {
    return this.#flows.values();
  }

  get size(): number {
    return this.#flows.size;
  }

  get(name: string): Of | undefined {
    return this.#flows.get(name);
  }

  /** A flow without runs is forgotten sooner or later. */
  add(flow: Of): void {
    this.#flows.set(flow.name, flow);
  }

  /** The first answer of a flow, in the order in which they are next. */
  first<Answer>(ask: (flow: Of) => Answer | undefined): Answer | undefined {
    return this.#firstBelowShare(ask) ?? this.#firstByStartTag(ask);
  }

  change(flow: Of, { waiting = 0, slots = 0, isServed = false, weight = flow.weight }: FlowChange): void {
    const before = flow.waiting;
    const after = before + waiting;
    const moves =
      slots !== 0 || isServed || weight !== flow.weight || Math.min(before, 2) !== Math.min(after, 2);
    if (moves && before > 0) this.#takeOut(flow);
    flow.weight = weight;
    if (isServed) {
      this.#virtualTime = Math.max(this.#virtualTime, flow.startTag);
      flow.startTag += 1 / flow.weight;
    }
    if (isServed || (before === 0 && waiting > 0)) {
      this.#count += 1;
      flow.since = this.#count;
    }
    flow.waiting = after;
    flow.slots += slots;
    if (moves && after > 0) this.#putIn(flow);
    if (isIdle(flow)) this.#idle.set(flow, flow.startTag);
    else this.#idle.delete(flow);
    this.#forgetIdle();
  }

  /** Those that had no more than the others, or all when nobody has runs. */
  #forgetIdle(): void {
    const time = this.#idle.size === this.#flows.size ? Infinity : this.#virtualTime;
    for (let first = this.#idle.first(); first && first.rank <= time; first = this.#idle.first()) {
      this.#idle.delete(first.item);
      this.#flows.delete(first.item.name);
    }
  }

  #firstBelowShare<Answer>(ask: (flow: Of) => Answer | undefined): Answer | undefined {
    // With the slot that is given away now.
    const slotsByWeight = (this.#slots + 1) / this.#weight;
    for (const flow of this.#byShare) {
      if (flow.slots / flow.weight >= slotsByWeight) return undefined;
      const answer = flow.slots + 1 <= flow.weight * slotsByWeight ? ask(flow) : undefined;
      if (answer !== undefined) return answer;
    }
    return undefined;
  }

  #firstByStartTag<Answer>(ask: (flow: Of) => Answer | undefined): Answer | undefined {
    for (;;) {
      const next = this.#nextByStartTag(ask);
      if (next === undefined || next.flow.startTag >= this.#virtualTime) return next?.answer;
      // It could not use the slots before, or had its share: it saved up nothing.
      this.#takeOut(next.flow);
      this.#putIn(next.flow);
    }
  }

  #nextByStartTag<Answer>(ask: (flow: Of) => Answer | undefined): { flow: Of; answer: Answer } | undefined {
    for (const flow of this.#byStartTag) {
      const answer = ask(flow);
      if (answer !== undefined) return { flow, answer };
    }
    return undefined;
  }

  #putIn(flow: Of): void {
    flow.startTag = Math.max(flow.startTag, this.#virtualTime);
    this.#slots += flow.slots;
    this.#weight += flow.weight;
    this.#byShare.add(flow);
    this.#byStartTag.add(flow);
  }

  #takeOut(flow: Of): void {
    this.#slots -= flow.slots;
    this.#weight -= flow.weight;
    this.#byShare.delete(flow);
    this.#byStartTag.delete(flow);
  }
}

type Order = (one: Flow, other: Flow) => number;

const byStartTag: Order = (one, other) =>
  one.startTag - other.startTag ||
  Number(other.waiting === 1) - Number(one.waiting === 1) ||
  one.since - other.since;

const byShare: Order = (one, other) =>
  one.slots / one.weight - other.slots / other.weight || byStartTag(one, other);

/** What the order goes by must not change while a flow is in it. No two are equal. */
class SortedFlows<Of extends Flow> {
  readonly #flows: Of[] = [];
  readonly #order: Order;

  constructor(order: Order) {
    this.#order = order;
  }

  [Symbol.iterator](): Iterator<Of> {
    return this.#flows.values();
  }

  add(flow: Of): void {
    this.#flows.splice(this.#indexOf(flow), 0, flow);
  }

  delete(flow: Of): void {
    this.#flows.splice(this.#indexOf(flow), 1);
  }

  /** Where it is, or belongs. */
  #indexOf(flow: Of): number {
    let low = 0;
    for (let high = this.#flows.length; low < high;) {
      const middle = (low + high) >> 1;
      const other = this.#flows[middle];
      if (other && this.#order(other, flow) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const isIdle = ({ waiting, slots }: Flow): boolean => waiting === 0 && slots === 0;

/**
 * How many runs of another flow are served before run number `ordinal` of the flow, when both have the same start tag now: an estimate
 * for a queue position. `waiting`: how many runs the other has.
 */
export const servedBefore = (
  ordinal: number,
  flow: Pick<Flow, 'weight'>,
  other: Pick<Flow, 'weight'>,
  waiting: number,
): number => Math.min(waiting, Math.ceil(((ordinal - 1) * other.weight) / flow.weight));
