import type { GpuModel } from '@runledger/contracts/gpu';
import { PRIORITY_STEP_S } from '@runledger/contracts/run-options';
import type { Run } from '@runledger/contracts/fold/run';
import type { Assign } from '../src/core/decision.ts';
import { type Moment, type RunThen, heldSlots, limitAt } from './known-slots.ts';
import { type Circumstances, fits, holdsOutFor, modelsAt, type TickClock } from './placement.ts';
import type { Slot } from '../src/core/registered-executor.ts';

/** Judges assignments one after the other: each slot goes to whom it belongs by weight (ADR 73). */
export class Fairness {
  readonly #passes = new Passes();

  /** What is wrong with the assignment, in words. `moment`: before it. */
  problemOf(moment: Moment, assign: Assign, circumstances: Circumstances): string | undefined {
    const sharings = sharingsAt(moment, assign, circumstances);
    const beyond = sharings.flatMap((sharing) => this.#passes.start(sharing) ?? []);
    return passedOver(sharings, assign, circumstances) ?? beyond[0];
  }

  /** Slots may have been given away that were not judged. */
  forget(): void {
    this.#passes.forget();
  }
}

/**
 * Who should have had the slot, in words: somebody below its fair share, whose share is lower, or a run that comes before the other one in
 * their deployment.
 */
const passedOver = (
  sharings: readonly Sharing[],
  { run }: Assign,
  { clock }: Circumstances,
): string | undefined => {
  for (const { pool, sharers, next, fairShare } of sharings) {
    const got = shareWithSlot(next);
    for (const one of sharers) {
      const share = shareWithSlot(one);
      if (one.able.length === 0 || isLess(fairShare, share) || !isLess(share, got)) continue;
      return `${next.name} with ${next.slots} slots of weight ${next.weight} passed over ${one.name} with ${one.slots} of weight ${one.weight} for ${pool}`;
    }
  }
  const first = sharings.at(-1)?.next.able.find((one) => isBefore(one.run, run, clock.instantOf));
  return first && `${run.run_id} passed over ${first.key.run_id}, which comes first in its deployment`;
};

/**
 * Whoever waits without a slot is passed by so many runs of another one, in slots that it could take and by no lower share: by weight what
 * the other one gets for one run of its own, and one more. With equal weights these are two.
 */
const mostPasses = (by: Pick<Sharer, 'weight'>, waiting: Pick<Sharer, 'weight'>): number =>
  Math.floor((by.weight / waiting.weight) * (1 + ROUNDING)) + 1;

/** Since a flow waits without a slot. */
interface Wait {
  /** The runs that it had waiting at the last start: while one of them waits, it has waited all the time. */
  runs: ReadonlySet<string>;
  /** By others. */
  readonly passes: Map<string, number>;
}

/** Counts who passes whom, of those that share the slots of a GPU model, or the slots of an organisation. */
class Passes {
  /** By pool and name. */
  readonly #waits = new Map<string, Map<string, Wait>>();

  /** Somebody gets a slot. Returns a pass beyond the bound, in words. */
  start(sharing: Sharing): string | undefined {
    const { pool, sharers, next } = sharing;
    const before = this.#waits.get(pool);
    const waits = new Map<string, Wait>();
    this.#waits.set(pool, waits);
    let beyond: string | undefined;
    for (const one of sharers) {
      if (one === next || one.slots > 0) continue;
      const runs = new Set(one.waiting.map(({ name, head }) => `${name} ${head}`));
      const known = before?.get(one.name);
      const passes = known && !known.runs.isDisjointFrom(runs) ? known.passes : new Map<string, number>();
      waits.set(one.name, { runs, passes });
      if (!isPassed(one, sharing)) continue;
      const times = (passes.get(next.name) ?? 0) + 1;
      passes.set(next.name, times);
      const most = mostPasses(next, one);
      if (times > most)
        beyond = `${one.name} waits for ${pool} without a slot, and is passed by run ${times} of ${next.name}, of ${most} that may`;
    }
    return beyond;
  }

  /** Slots may have been given away that were not counted. */
  forget(): void {
    this.#waits.clear();
  }
}

/** It could take the slot, and the next one is not before it by a lower share: start tags decide. */
const isPassed = (one: Sharer, { next, fairShare }: Sharing): boolean => {
  const share = shareWithSlot(next);
  const isByShare = !isLess(fairShare, share) && share < shareWithSlot(one);
  return one.able.length > 0 && !isByShare;
};

/** One of those who share slots. */
interface Sharer {
  readonly name: string;
  readonly weight: number;
  /** How many it holds. */
  readonly slots: number;
  /** Its runs that wait for such a slot, whether they could take this one or not. */
  readonly waiting: readonly RunThen[];
  /** Those that could take this one now. */
  readonly able: readonly RunThen[];
}

/** Who shares the slots of a GPU model when one of them is given away: its organisations, or the deployments of one of these. */
interface Sharing {
  readonly pool: string;
  /** All that wait for such a slot. */
  readonly sharers: readonly Sharer[];
  /** The one that gets it. */
  readonly next: Sharer;
  /** What a slot more may be for each, by weight: the part of the slots that they hold together, and of this one. */
  readonly fairShare: number;
}

/** At both levels, counted from the runs and slots before the assignment. None when its run does not wait for such a slot. */
const sharingsAt = (
  moment: Moment,
  { run, gpu, executor, slot: number }: Assign,
  circumstances: Circumstances,
): readonly Sharing[] => {
  const taken = moment.slots.find(({ slot }) => slot.executor.id === executor && slot.number === number);
  if (!taken) throw new Error(`${executor} has no slot ${number}`);
  const isAble = abilityAt(moment, taken.slot, circumstances);
  const ofModel = moment.runs.flatMap((one) => {
    const waits = waitsFor(one, gpu, circumstances);
    return waits || one.slot?.gpu === gpu ? [{ one, waits, isAble: waits && isAble(one) }] : [];
  });
  const sharing = (pool: string, counted: readonly Counted[], flow: FlowOf): Sharing[] => {
    const sharers = [...Map.groupBy(counted, ({ one }) => flow.nameOf(one.run))]
      .map(([name, own]) => sharer(name, own, flow))
      .filter(({ waiting }) => waiting.length > 0);
    const next = sharers.find(({ name }) => name === flow.nameOf(run));
    return next ? [{ pool, sharers, next, fairShare: fairShareOf(sharers) }] : [];
  };
  const ofOrganisation = ofModel.filter(({ one }) => one.key.org_id === run.org_id);
  const { shareOf } = circumstances;
  return [
    ...sharing(gpu, ofModel, {
      nameOf: ({ org_id }) => org_id,
      weightOf: ({ org_id }) => shareOf(org_id).weight,
    }),
    ...sharing(`${gpu} of ${run.org_id}`, ofOrganisation, {
      nameOf: ({ request }) => request.deployment_id,
      weightOf: ({ request }) => request.weight ?? 1,
    }),
  ];
};

/** Which flow a run belongs to, and what weight the newest run of a flow gives to it. */
interface FlowOf {
  readonly nameOf: (run: Run) => string;
  readonly weightOf: (newest: Run) => number;
}

/** Shares that differ by less are equal: weights are no whole numbers. */
const ROUNDING = 1e-8;

const isLess = (one: number, other: number): boolean => one < other * (1 - ROUNDING);

/** What it would hold with one more slot, by its weight. */
const shareWithSlot = ({ slots, weight }: Pick<Sharer, 'slots' | 'weight'>): number => (slots + 1) / weight;

/** Whether one deployment starts this run before the other: a step of priority is worth a minute. */
export const isBefore = (one: Run, other: Run, instantOf: TickClock['instantOf']): boolean => {
  const place = ({ created_at, request }: Run): number =>
    instantOf(created_at) - PRIORITY_STEP_S * 1_000 * (request.priority ?? 0);
  return place(one) - place(other) < 0 || (place(one) === place(other) && one.number < other.number);
};

interface Counted {
  readonly one: RunThen;
  readonly waits: boolean;
  readonly isAble: boolean;
}

const sharer = (name: string, own: readonly Counted[], { weightOf }: FlowOf): Sharer => {
  const runs = own.map(({ one }) => one);
  const newest = runs.reduce((last, one) => (one.run.number > last.run.number ? one : last));
  return {
    name,
    weight: weightOf(newest.run),
    slots: runs.filter(({ slot }) => slot !== undefined).length,
    waiting: own.flatMap(({ one, waits }) => (waits ? [one] : [])),
    able: own.flatMap(({ one, isAble }) => (isAble ? [one] : [])),
  };
};

const fairShareOf = (sharers: readonly Sharer[]): number => {
  const sum = (of: (one: Sharer) => number): number => sharers.reduce((total, one) => total + of(one), 0);
  return (sum(({ slots }) => slots) + 1) / sum(({ weight }) => weight);
};

const waitsFor = ({ waits, run }: RunThen, gpu: GpuModel, { clock }: Circumstances): boolean =>
  waits && modelsAt(run, clock).includes(gpu);

/** Whether a run that waits could take the slot: it fits, no limit holds it back, and it does not leave the slot to others. */
const abilityAt = (
  { runs, slots }: Moment,
  slot: Slot,
  { shareOf, clock }: Circumstances,
): ((one: RunThen) => boolean) => {
  const held = heldSlots(runs);
  return (one) =>
    fits(one, slot, [slot.gpu]) &&
    limitAt(held, one.run, shareOf) === undefined &&
    !holdsOutFor(one, slot, slots, clock);
};
