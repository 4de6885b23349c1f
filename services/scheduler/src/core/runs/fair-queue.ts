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
  /** It starts while fewer runs of its deployment hold slots; Infinity for no limit. */
  readonly limit: number;
}

/** Waiting runs of one deployment with equal requirements and limits, in the order of their numbers. */
interface Line {
  readonly requirements: Requirements;
  readonly limit: number;
  readonly numbers: OrderStatisticList;
  readonly names: Map<number, RunName>;
}

/** Of one deployment, on all GPU models: its limit counts all of its runs. */
interface Usage {
  waiting: number;
  slots: number;
  /** The lines that have a limit. */
  readonly limited: Set<Line>;
}

interface Deployment extends Flow {
  readonly lines: Map<string, Line>;
  readonly usage: Usage;
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
  readonly usage: Usage;
}

/** By organisation; 1 for those that are not named. */
export type Weights = ReadonlyMap<string, number>;

/**
 * Queued runs, and which is next: the slots of a GPU model are shared between organisations, those of an organisation between its
 * deployments, and the runs of a deployment start in the order of their numbers. A requeued run keeps its number, so it is in
 * front of its deployment again. A run that no executor can take, or whose deployment is at its limit, blocks no other.
 */
export class FairQueue {
  readonly #pools = new Map<GpuModel, Pool>();
  readonly #usages = new Map<string, Usage>();
  readonly #weights: Weights;

  constructor(weights: Weights) {
    this.#weights = weights;
  }

  /** The run waits for a slot from now on. */
  add(run: SlotRun): void {
    const place = this.#placeFor(run);
    const { deployment, usage } = place;
    const { requirements, limit } = run;
    const key = lineKey(run);
    const line = deployment.lines.get(key) ?? {
      requirements,
      limit,
      numbers: new OrderStatisticList(),
      names: new Map(),
    };
    deployment.lines.set(key, line);
    if (limit < Infinity) usage.limited.add(line);
    line.numbers.add(run.number);
    line.names.set(run.number, run.name);
    change(place, { waiting: 1 });
  }

  /** The run does not wait any more. */
  remove(run: SlotRun): void {
    const place = this.#placeOf(run);
    if (!place || !takeOut(place, run)) return;
    change(place, { waiting: -1 });
    this.#forgetIdle(run, place);
  }

  /** A waiting run gets a slot because it is next. */
  start(run: SlotRun): void {
    const place = this.#placeFor(run);
    const waited = takeOut(place, run);
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

  /** The next run of this GPU model, of those that the executor can serve and that are within their limits. */
  firstFor(gpu: GpuModel, capabilities: Capabilities): RunName | undefined {
    const pool = this.#pools.get(gpu);
    return pool?.share.first(({ share }) => share.first((deployment) => headFor(deployment, capabilities)));
  }

  isAtLimit(run: SlotRun): boolean {
    return (this.#usages.get(usageKey(run))?.slots ?? 0) >= run.limit;
  }

  /** The first runs of its deployment that have a limit and are within it. */
  firstWithinLimit(run: SlotRun): RunName[] {
    const { slots, limited } = this.#usages.get(usageKey(run)) ?? NO_USAGE;
    return [...limited].flatMap(({ limit, numbers, names }) =>
      slots < limit ? (names.get(numbers.first() ?? -1) ?? []) : [],
    );
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

  #placeOf(run: SlotRun): Place | undefined {
    const { gpu, org_id } = run.requirements;
    const pool = this.#pools.get(gpu);
    const organisation = pool?.organisations.get(org_id);
    const deployment = organisation?.deployments.get(run.deployment_id);
    return pool && organisation && deployment && { pool, organisation, deployment, usage: deployment.usage };
  }

  #placeFor(run: SlotRun): Place {
    const { gpu, org_id } = run.requirements;
    const pool = this.#pools.get(gpu) ?? { organisations: new Map(), share: new FairShare() };
    this.#pools.set(gpu, pool);
    const organisation = pool.organisations.get(org_id) ?? {
      ...newFlow(this.#weights.get(org_id) ?? 1),
      deployments: new Map(),
      share: new FairShare(),
    };
    pool.organisations.set(org_id, organisation);
    const key = usageKey(run);
    const usage = this.#usages.get(key) ?? { waiting: 0, slots: 0, limited: new Set() };
    this.#usages.set(key, usage);
    const deployment = organisation.deployments.get(run.deployment_id) ?? {
      ...newFlow(1),
      lines: new Map(),
      usage,
    };
    organisation.deployments.set(run.deployment_id, deployment);
    return { pool, organisation, deployment, usage };
  }

  /** Whoever has nothing here is forgotten: GPU models and deployments come and go. */
  #forgetIdle(run: SlotRun, { pool, organisation, deployment, usage }: Place): void {
    const { gpu, org_id } = run.requirements;
    if (isIdle(usage)) this.#usages.delete(usageKey(run));
    if (isIdle(deployment)) organisation.deployments.delete(run.deployment_id);
    if (isIdle(organisation)) pool.organisations.delete(org_id);
    if (pool.organisations.size === 0) this.#pools.delete(gpu);
  }
}

const NO_USAGE: Usage = { waiting: 0, slots: 0, limited: new Set() };

const usageKey = ({ requirements: { org_id }, deployment_id }: SlotRun): string =>
  `${org_id}/${deployment_id}`;

const lineKey = ({ requirements, limit }: SlotRun): string => `${limit} ${requirementsKey(requirements)}`;

const change = ({ pool, organisation, deployment, usage }: Place, by: FlowChange): void => {
  usage.waiting += by.waiting ?? 0;
  usage.slots += by.slots ?? 0;
  organisation.share.change(deployment, by);
  pool.share.change(organisation, by);
};

const isIdle = ({ waiting, slots }: Pick<Flow, 'waiting' | 'slots'>): boolean => waiting === 0 && slots === 0;

/** Whether the run waited. */
const takeOut = ({ deployment: { lines }, usage }: Place, run: SlotRun): boolean => {
  const key = lineKey(run);
  const line = lines.get(key);
  if (!line?.names.delete(run.number)) return false;
  line.numbers.delete(run.number);
  if (line.numbers.size > 0) return true;
  lines.delete(key);
  usage.limited.delete(line);
  return true;
};

/** The run of the deployment that has waited longest, of those that the executor can serve and that are within their limits. */
const headFor = ({ lines, usage }: Deployment, capabilities: Capabilities): RunName | undefined => {
  let first = Infinity;
  let from: Line | undefined;
  for (const line of lines.values()) {
    const head = line.numbers.first();
    if (head === undefined || head >= first || usage.slots >= line.limit) continue;
    if (!canServe(capabilities, line.requirements)) continue;
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
