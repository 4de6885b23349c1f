import type { GpuModel } from '@runledger/contracts/gpu';
import type { OrgId } from '@runledger/contracts/ids';
import { canServe, requirementsKey, type Capabilities, type Requirements } from '../slots/requirements.ts';
import type { RunName } from '../slots/run-name.ts';
import { OrderStatisticList } from './order-statistic-list.ts';
import { FairShare, newFlow, servedBefore, type Flow, type FlowChange } from './fair-share.ts';

/** A run that waits for a slot or holds one. Its number is unique: the log sequence at which it was queued. */
export interface SlotRun {
  readonly name: RunName;
  readonly number: number;
  readonly deployment_id: string;
  readonly requirements: Requirements;
}

/** Waiting runs of one deployment with equal requirements, in the order of their numbers. */
interface Line {
  readonly requirements: Requirements;
  readonly numbers: OrderStatisticList;
  readonly names: Map<number, RunName>;
}

interface Deployment extends Flow {
  readonly lines: Map<string, Line>;
}

interface Organisation extends Flow {
  readonly deployments: Map<string, Deployment>;
  readonly share: FairShare<Deployment>;
}

/** Those who share the slots of one GPU model. */
interface Pool {
  readonly organisations: Map<OrgId, Organisation>;
  readonly share: FairShare<Organisation>;
}

interface Place {
  readonly pool: Pool;
  readonly organisation: Organisation;
  readonly deployment: Deployment;
}

/** By organisation; 1 for those that are not named. */
export type Weights = ReadonlyMap<string, number>;

/**
 * Queued runs, and which is next: the slots of a GPU model are shared between organisations, those of an organisation between its
 * deployments, and the runs of a deployment start in the order of their numbers. A requeued run keeps its number, so it is in
 * front of its deployment again. A run that no executor can take blocks no other.
 */
export class FairQueue {
  readonly #pools = new Map<GpuModel, Pool>();
  readonly #weights: Weights;

  constructor(weights: Weights) {
    this.#weights = weights;
  }

  /** The run waits for a slot from now on. */
  add(run: SlotRun): void {
    const place = this.#placeFor(run);
    const { lines } = place.deployment;
    const key = requirementsKey(run.requirements);
    const line = lines.get(key) ?? {
      requirements: run.requirements,
      numbers: new OrderStatisticList(),
      names: new Map(),
    };
    lines.set(key, line);
    line.numbers.add(run.number);
    line.names.set(run.number, run.name);
    change(place, { waiting: 1 });
  }

  /** The run does not wait any more. */
  remove(run: SlotRun): void {
    const place = this.#placeOf(run);
    if (!place || !takeOut(place.deployment, run)) return;
    change(place, { waiting: -1 });
    this.#forgetIdle(run, place);
  }

  /** A waiting run gets a slot because it is next. */
  start(run: SlotRun): void {
    const place = this.#placeFor(run);
    const waited = takeOut(place.deployment, run);
    change(place, { waiting: waited ? -1 : 0, slots: 1, isServed: true });
  }

  /** The run holds a slot, as the log says. */
  hold(run: SlotRun): void {
    change(this.#placeFor(run), { slots: 1 });
  }

  release(run: SlotRun): void {
    const place = this.#placeOf(run);
    if (!place) return;
    change(place, { slots: -1 });
    this.#forgetIdle(run, place);
  }

  /** The next run of this GPU model, of those that the executor can serve. */
  firstFor(gpu: GpuModel, capabilities: Capabilities): RunName | undefined {
    const pool = this.#pools.get(gpu);
    return pool?.share.first(({ share }) => share.first((deployment) => headFor(deployment, capabilities)));
  }

  /**
   * About how many runs of its GPU model start before this one, if all who wait are served by weight from now on. Only runs count that
   * compete for the same executors: those of the capabilities that fit this run (`able`). Without such an executor all of them count.
   */
  aheadOf(run: SlotRun, able: readonly Capabilities[]): number {
    const place = this.#placeOf(run);
    if (!place) return 0;
    const { pool, organisation, deployment } = place;
    const competes = ({ requirements }: Line): boolean =>
      able.length === 0 || able.some((capabilities) => canServe(capabilities, requirements));
    const own = sum(linesOf(deployment, competes), ({ numbers }) => numbers.countBelow(run.number));
    const ofDeployments = sum(organisation.deployments.values(), (other) =>
      other === deployment ? 0 : servedBefore(own + 1, deployment, other, lengthOf(other, competes)),
    );
    const inOrganisation = own + ofDeployments;
    const ofOrganisations = sum(pool.organisations.values(), (other) => {
      if (other === organisation) return 0;
      const waiting = sum(other.deployments.values(), (one) => lengthOf(one, competes));
      return servedBefore(inOrganisation + 1, organisation, other, waiting);
    });
    return inOrganisation + ofOrganisations;
  }

  /** By GPU model: how many runs wait, and which has waited longest. */
  *lengths(): Generator<{ gpu: GpuModel; length: number; first: RunName }> {
    for (const [gpu, { organisations }] of this.#pools) {
      let head = Infinity;
      let first: RunName | undefined;
      let length = 0;
      for (const { deployments, waiting } of organisations.values()) {
        length += waiting;
        for (const { lines } of deployments.values()) {
          for (const { numbers, names } of lines.values()) {
            const number = numbers.first() ?? Infinity;
            if (number >= head) continue;
            head = number;
            first = names.get(number);
          }
        }
      }
      if (first) yield { gpu, length, first };
    }
  }

  #placeOf({ requirements: { gpu, org_id }, deployment_id }: SlotRun): Place | undefined {
    const pool = this.#pools.get(gpu);
    const organisation = pool?.organisations.get(org_id);
    const deployment = organisation?.deployments.get(deployment_id);
    return pool && organisation && deployment && { pool, organisation, deployment };
  }

  #placeFor({ requirements: { gpu, org_id }, deployment_id }: SlotRun): Place {
    const pool = this.#pools.get(gpu) ?? { organisations: new Map(), share: new FairShare() };
    this.#pools.set(gpu, pool);
    const organisation = pool.organisations.get(org_id) ?? {
      ...newFlow(this.#weights.get(org_id) ?? 1),
      deployments: new Map(),
      share: new FairShare(),
    };
    pool.organisations.set(org_id, organisation);
    const deployment = organisation.deployments.get(deployment_id) ?? { ...newFlow(1), lines: new Map() };
    organisation.deployments.set(deployment_id, deployment);
    return { pool, organisation, deployment };
  }

  /** Whoever has nothing here is forgotten: GPU models and deployments come and go. */
  #forgetIdle({ requirements: { gpu, org_id }, deployment_id }: SlotRun, place: Place): void {
    const { pool, organisation, deployment } = place;
    if (isIdle(deployment)) organisation.deployments.delete(deployment_id);
    if (isIdle(organisation)) pool.organisations.delete(org_id);
    if (pool.organisations.size === 0) this.#pools.delete(gpu);
  }
}

const change = ({ pool, organisation, deployment }: Place, by: FlowChange): void => {
  organisation.share.change(deployment, by);
  pool.share.change(organisation, by);
};

const isIdle = ({ waiting, slots }: Flow): boolean => waiting === 0 && slots === 0;

/** Whether the run waited. */
const takeOut = ({ lines }: Deployment, { number, requirements }: SlotRun): boolean => {
  const key = requirementsKey(requirements);
  const line = lines.get(key);
  if (!line?.names.delete(number)) return false;
  line.numbers.delete(number);
  if (line.numbers.size === 0) lines.delete(key);
  return true;
};

/** The run of the deployment that has waited longest, of those that the executor can serve. */
const headFor = ({ lines }: Deployment, capabilities: Capabilities): RunName | undefined => {
  let first = Infinity;
  let from: Line | undefined;
  for (const line of lines.values()) {
    const head = line.numbers.first();
    if (head === undefined || head >= first || !canServe(capabilities, line.requirements)) continue;
    first = head;
    from = line;
  }
  return from?.names.get(first);
};

const linesOf = ({ lines }: Deployment, competes: (line: Line) => boolean): IteratorObject<Line> =>
  lines.values().filter(competes);

const lengthOf = (deployment: Deployment, competes: (line: Line) => boolean): number =>
  sum(linesOf(deployment, competes), ({ numbers }) => numbers.size);

const sum = <Of>(items: IteratorObject<Of>, count: (item: Of) => number): number =>
  items.reduce((total, item) => total + count(item), 0);
