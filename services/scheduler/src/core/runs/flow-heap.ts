/** One of those who share the slots of a GPU model: an organisation, or a deployment of one. */
export interface Flow {
  readonly name: string;
  /** Its part of the slots, beside the weights of the others. */
  weight: number;
  /** How many of its runs wait. */
  waiting: number;
  /** How many slots it holds. */
  slots: number;
  /** What it would hold with one more slot, by its weight. */
  share: number;
  /** The virtual time from which it is served next. */
  startTag: number;
  /** When it began to wait or was served, whatever was last, as a count. */
  since: number;
  /** Among those that share; -1 before it is one of them. */
  number: number;
}

export const newFlow = (name: string, weight: number): Flow => ({
  name,
  weight,
  waiting: 0,
  slots: 0,
  share: 1 / weight,
  startTag: 0,
  since: 0,
  number: -1,
});

/** The lowest share first, and of equal shares the lowest start tag; or the lowest start tag at once. */
export type FlowOrder = 'share' | 'startTag';

/** Numbers by which a flow is ordered: its share, if that counts, its start tag, whether it has more than one run, and `since`. */
const RANKS = 4;
const NONE = -1;

/**
 * The numbers of flows that wait, in an order: a binary heap that knows where each number is. A flow that has changed is set again, and
 * no two are equal in order. All of it stands in arrays of numbers, so a change reads and writes no other flow.
 */
export class FlowHeap {
  /** Numbers of flows, and by what they are ordered: as it was when they were set. */
  #numbers = new Int32Array(1);
  #ranks = new Float64Array(RANKS);
  #size = 0;
  /** By number, and 1 more: 0 for a flow that is not here. */
  #indices = new Int32Array(1);
  readonly #order: FlowOrder;

  constructor(order: FlowOrder) {
    this.#order = order;
  }

  /** The first answer for a flow, in their order and as far as this holds. Nothing changes meanwhile. */
  first<Answer>(
    ask: (number: number) => Answer | undefined,
    holds: (number: number) => boolean,
  ): Answer | undefined {
    const top = this.#numbers[0] ?? NONE;
    if (this.#size === 0 || !holds(top)) return undefined;
    return ask(top) ?? this.#firstBelow(ask, holds);
  }

  /** Adds the flow, or moves it to where it belongs since it has changed. */
  set(flow: Flow): void {
    const { number } = flow;
    if (number >= this.#indices.length) this.#indices = grown(this.#indices, number + 1);
    const known = (this.#indices[number] ?? 0) - 1;
    if (known === NONE) {
      this.#size += 1;
      if (this.#size > this.#numbers.length) {
        this.#numbers = grown(this.#numbers, this.#size);
        this.#ranks = grown(this.#ranks, this.#size * RANKS);
      }
    }
    const share = this.#order === 'share' ? flow.share : 0;
    const isMany = flow.waiting === 1 ? 0 : 1;
    const index = known === NONE ? this.#size - 1 : known;
    this.#settle(number, index, share, flow.startTag, isMany, flow.since);
  }

  delete({ number }: Flow): void {
    const index = (this.#indices[number] ?? 0) - 1;
    if (index === NONE) return;
    this.#indices[number] = 0;
    this.#size -= 1;
    const last = this.#size;
    if (last === index) return;
    const ranks = this.#ranks;
    const at = last * RANKS;
    const [share, startTag, isMany, since] = [ranks[at], ranks[at + 1], ranks[at + 2], ranks[at + 3]];
    this.#settle(this.#numbers[last] ?? 0, index, share ?? 0, startTag ?? 0, isMany ?? 0, since ?? 0);
  }

  /** Below the top. What has been asked leaves its children to be asked, so nothing is taken out of the heap. */
  #firstBelow<Answer>(
    ask: (number: number) => Answer | undefined,
    holds: (number: number) => boolean,
  ): Answer | undefined {
    /** Indices; the next one is last. */
    const next: number[] = [];
    const addChildren = (index: number): void => {
      for (const child of [2 * index + 1, 2 * index + 2])
        if (child < this.#size) next.splice(this.#countBehind(next, child), 0, child);
    };
    addChildren(0);
    for (let index = next.pop(); index !== undefined; index = next.pop()) {
      const number = this.#numbers[index] ?? NONE;
      if (!holds(number)) return undefined;
      const answer = ask(number);
      if (answer !== undefined) return answer;
      addChildren(index);
    }
    return undefined;
  }

  /** How many of these, the last one first, come behind the one at this index. */
  #countBehind(sorted: readonly number[], index: number): number {
    let low = 0;
    for (let high = sorted.length; low < high;) {
      const middle = (low + high) >> 1;
      if (this.#isBefore(index, sorted[middle] ?? 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isBefore(index: number, other: number): boolean {
    const ranks = this.#ranks;
    const at = index * RANKS;
    return this.#isBehind(other, ranks[at] ?? 0, ranks[at + 1] ?? 0, ranks[at + 2] ?? 0, ranks[at + 3] ?? 0);
  }

  /** Whether the flow at this index comes behind one with these ranks. */
  #isBehind(index: number, share: number, startTag: number, isMany: number, since: number): boolean {
    const ranks = this.#ranks;
    const at = index * RANKS;
    const ownShare = ranks[at] ?? 0;
    if (ownShare !== share) return ownShare > share;
    const ownTag = ranks[at + 1] ?? 0;
    if (ownTag !== startTag) return ownTag > startTag;
    const isOwnMany = ranks[at + 2] ?? 0;
    return isOwnMany === isMany ? (ranks[at + 3] ?? 0) > since : isOwnMany > isMany;
  }

  /** Puts a flow with these ranks at this index, which is its own or free, or where it belongs above or below it. */
  #settle(
    number: number,
    from: number,
    share: number,
    startTag: number,
    isMany: number,
    since: number,
  ): void {
    let index = from;
    for (let parent = (index - 1) >> 1; index > 0; parent = (index - 1) >> 1) {
      if (!this.#isBehind(parent, share, startTag, isMany, since)) break;
      this.#move(parent, index);
      index = parent;
    }
    if (index === from) {
      for (let child = this.#firstChild(index); child !== NONE; child = this.#firstChild(index)) {
        if (this.#isBehind(child, share, startTag, isMany, since)) break;
        this.#move(child, index);
        index = child;
      }
    }
    const ranks = this.#ranks;
    const at = index * RANKS;
    ranks[at] = share;
    ranks[at + 1] = startTag;
    ranks[at + 2] = isMany;
    ranks[at + 3] = since;
    this.#numbers[index] = number;
    this.#indices[number] = index + 1;
  }

  /** The one of the two children that comes first; -1 without children. */
  #firstChild(index: number): number {
    const left = 2 * index + 1;
    if (left >= this.#size) return NONE;
    return left + 1 < this.#size && this.#isBefore(left + 1, left) ? left + 1 : left;
  }

  #move(from: number, to: number): void {
    const number = this.#numbers[from] ?? 0;
    this.#numbers[to] = number;
    this.#indices[number] = to + 1;
    const ranks = this.#ranks;
    for (let rank = 0; rank < RANKS; rank += 1) ranks[to * RANKS + rank] = ranks[from * RANKS + rank] ?? 0;
  }
}

/** With room for so many, and for others later. */
const grown = <Numbers extends Int32Array | Float64Array>(numbers: Numbers, needed: number): Numbers => {
  const length = Math.max(2 * numbers.length, needed);
  const more = numbers instanceof Int32Array ? new Int32Array(length) : new Float64Array(length);
  more.set(numbers);
  return more as Numbers;
};
