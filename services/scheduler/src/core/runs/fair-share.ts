import type { OrgId } from '@runledger/contracts/ids';
import { FlowHeap, type Flow } from './flow-heap.ts';
import { IndexedPriorityQueue } from './indexed-priority-queue.ts';
import type { Requirements } from '../requirements.ts';
import type { Line, OrgUsage } from './usage.ts';

/** In a weight of 1. */
const UNITS_OF_WEIGHT = 1e9;
/** Shares that differ by less are equal. */
const ROUNDING = 1e-8;

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
 * share with the new slot first (max-min fairness). The fair share is its part by weight of the slots that all waiting flows hold.
 * Beyond that, start-time fair queueing (Goyal, Vin and Cheng, 1996) serves them by weight, so that also a single slot is shared. Of
 * equal start tags a flow with a single run goes first, and then the one that has waited longest. A flow that does not wait, or holds a slot,
 * saves up nothing. One that waits without a slot keeps its tag, and so its turn, however many slots others get by their shares. What a flow had
 * before the others is remembered until they have had the same.
 */
export class FairShare<Of extends Flow> {
  readonly #flows = new Map<string, Of>();
  /** By number. */
  readonly #numbered: (Of | undefined)[] = [];
  readonly #unused: number[] = [];
  readonly #byShare = new FlowHeap('share');
  readonly #byStartTag = new FlowHeap('startTag');
  /** Those without a run, by start tag. */
  readonly #idle = new IndexedPriorityQueue<Of>();
  /** Of the flows that wait. */
  #slots = 0;
  /** In units, as a whole number: a sum of fractions would be less and less exact. */
  #weight = 0;
  /** The highest start tag that was served. */
  #virtualTime = 0;
  #turn = 0;

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
    if (flow.number !== -1) return;
    flow.number = this.#unused.pop() ?? this.#numbered.length;
    this.#numbered[flow.number] = flow;
    this.#flows.set(flow.name, flow);
  }

  /** The first answer of a flow, in the order in which they are next. */
  first<Answer>(ask: (flow: Of) => Answer | undefined): Answer | undefined {
    return this.#firstBelowShare(ask) ?? this.#firstByStartTag(ask);
  }

  change(flow: Of, { waiting = 0, slots = 0, isServed = false, weight = flow.weight }: FlowChange): void {
    const before = flow.waiting;
    const after = before + waiting;
    const wasIdle = isIdle(flow);
    const isSingle = before === 1;
    const { startTag, since } = flow;
    const moves =
      slots !== 0 || isServed || weight !== flow.weight || Math.min(before, 2) !== Math.min(after, 2);
    if (moves && before > 0) this.#count(flow, -1);
    flow.weight = weight;
    if (isServed) {
      this.#virtualTime = Math.max(this.#virtualTime, flow.startTag);
      flow.startTag = this.#virtualTime + 1 / weight;
    }
    if (isServed || (before === 0 && waiting > 0)) flow.since = this.#turn += 1;
    flow.waiting = after;
    flow.slots += slots;
    flow.share = (flow.slots + 1) / weight;
    if (moves && after > 0) {
      this.#count(flow, 1);
      if (before === 0 || slots !== 0) flow.startTag = Math.max(flow.startTag, this.#virtualTime);
      this.#byShare.set(flow);
      const isSameTag = startTag === flow.startTag && since === flow.since && isSingle === (after === 1);
      if (before === 0 || !isSameTag) this.#byStartTag.set(flow);
    } else if (moves && before > 0) {
      this.#byShare.delete(flow);
      this.#byStartTag.delete(flow);
    }
    if (isIdle(flow)) this.#idle.set(flow, flow.startTag);
    else if (wasIdle) this.#idle.delete(flow);
    this.#forgetIdle();
  }

  /** Those that had no more than the others, or all when nobody has runs. */
  #forgetIdle(): void {
    if (this.#idle.size === 0) return;
    const time = this.#idle.size === this.#flows.size ? Infinity : this.#virtualTime;
    for (let first = this.#idle.first(); first && first.rank <= time; first = this.#idle.first()) {
      const { item } = first;
      this.#idle.delete(item);
      this.#flows.delete(item.name);
      this.#numbered[item.number] = undefined;
      this.#unused.push(item.number);
      item.number = -1;
    }
  }

  #firstBelowShare<Answer>(ask: (flow: Of) => Answer | undefined): Answer | undefined {
    // With the slot that is given away now.
    const fairShare = ((this.#slots + 1) / this.#weight) * UNITS_OF_WEIGHT;
    return this.#byShare.first(
      (number) => {
        const flow = this.#numbered[number];
        return flow && ask(flow);
      },
      (number) => (this.#numbered[number]?.share ?? Infinity) <= fairShare * (1 + ROUNDING),
    );
  }

  #firstByStartTag<Answer>(ask: (flow: Of) => Answer | undefined): Answer | undefined {
    for (;;) {
      let next: Of | undefined;
      const answer = this.#byStartTag.first(
        (number) => {
          next = this.#numbered[number];
          return next && ask(next);
        },
        () => true,
      );
      if (answer === undefined || !next || next.slots === 0 || next.startTag >= this.#virtualTime)
        return answer;
      // It had its share: it saved up nothing.
      next.startTag = this.#virtualTime;
      this.#byShare.set(next);
      this.#byStartTag.set(next);
    }
  }

  /** A flow that waits. */
  #count({ slots, weight }: Of, sign: 1 | -1): void {
    this.#slots += sign * slots;
    this.#weight += sign * Math.round(weight * UNITS_OF_WEIGHT);
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

export interface Deployment extends Flow {
  /** Those with waiting runs, by the names of their lines. */
  readonly places: Map<string, Place>;
  /** The run that was queued last, as far as known: the deployment has its weight. */
  newest: number;
  /** Of that run. */
  requirements: Requirements;
}

export interface Organisation extends Flow {
  readonly org_id: OrgId;
  /** Of its runs on all GPU models, as long as it has any. */
  usage: OrgUsage;
  readonly deployments: FairShare<Deployment>;
}

/** Where runs wait for slots of one GPU model, or waited before they got their slots. All runs of a line share it. */
export interface Place extends Line {
  readonly all: readonly Place[];
  /** Those who share the slots of one GPU model. */
  readonly pool: FairShare<Organisation>;
  readonly organisation: Organisation;
  readonly deployment: Deployment;
}
