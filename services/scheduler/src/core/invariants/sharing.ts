import type { GpuModel } from '@runledger/contracts/gpu';
import { PRIORITY_STEP_S } from '@runledger/contracts/fair-share';
import type { Run } from '@runledger/contracts/fold/run';
import type { Assign } from '../decisions/decision.ts';
import type { Slot } from '../fleet/registered-executor.ts';
import type { Moment, RunThen } from './before-decision.ts';
import { heldSlots, limitAt } from './held-slots.ts';
import { fits, holdsOutFor, modelsAt, type TickClock } from './placement-rules.ts';
import type { Circumstances } from './waits-beside-slot.ts';

/** One of those who share slots. */
export interface Sharer {
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
export interface Sharing {
  readonly pool: string;
  /** All that wait for such a slot. */
  readonly sharers: readonly Sharer[];
  /** The one that gets it. */
  readonly next: Sharer;
  /** What a slot more may be for each, by weight: the part of the slots that they hold together, and of this one. */
  readonly fairShare: number;
}

/** At both levels, counted from the runs and slots before the assignment. None when its run does not wait for such a slot. */
export const sharingsAt = (
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
export const ROUNDING = 1e-8;

export const isLess = (one: number, other: number): boolean => one < other * (1 - ROUNDING);

/** What it would hold with one more slot, by its weight. */
export const shareWithSlot = ({ slots, weight }: Pick<Sharer, 'slots' | 'weight'>): number =>
  (slots + 1) / weight;

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
