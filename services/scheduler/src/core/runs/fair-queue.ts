import { PRIORITY_STEP_S } from '@runledger/contracts/fair-share';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { OrgId } from '@runledger/contracts/ids';
import type { Limit } from '@runledger/contracts/requests/queue-position';
import { canServe, type Capabilities, type Requirements } from '../slots/requirements.ts';
import { FairShare, newFlow, servedBefore, type Flow, type FlowChange } from './fair-share.ts';
import type { KnownRun } from './known-run.ts';
import { numberOf, Usage, type Line } from './usage.ts';

export interface Deployment extends Flow {
  readonly lines: Map<string, Line>;
  /** The run that was queued last, as far as known: the deployment has its weight. */
  newest: number;
  /** Of that run. */
  requirements: Requirements;
}

export interface Organisation extends Flow {
  readonly org_id: OrgId;
  readonly deployments: FairShare<Deployment>;
}

interface Place {
  /** Those who share the slots of one GPU model. */
  readonly pool: FairShare<Organisation>;
  readonly organisation: Organisation;
  readonly deployment: Deployment;
  readonly usage: Usage;
}

/** Who starts before a waiting run, as an estimate. */
export interface Ahead {
  readonly ahead: number;
  /** Those of its own deployment. */
  readonly own: number;
  /** How many others have a run that starts just before it or just after it. */
  readonly undecided: number;
}

/** What an organisation gets of the slots. */
export interface OrgShare {
  /** Beside the weights of the others. */
  readonly weight: number;
  /** The most slots that it holds, on all GPU models; Infinity for no limit. */
  readonly limit: number;
}
export type ShareOf = (org_id: string) => OrgShare;

export interface FairQueueSettings {
  readonly shareOf: ShareOf;
  /** Milliseconds since 1970 of an ISO 8601 time. */
  readonly instantOf: (time: string) => number;
}

/**
 * Queued runs, and which is next: the slots of a GPU model are shared between organisations, those of an organisation between its
 * deployments, and the runs of a deployment start in the order in which they were queued, with a head start for their priority. A
 * requeued run is in front of its deployment again. A run that no executor can take, or that a limit holds back, blocks no other.
 */
export class FairQueue {
  readonly #pools = new Map<GpuModel, FairShare<Organisation>>();
  readonly #usages = new Map<string, Usage>();
  /** By organisation. */
  readonly #slots = new Map<OrgId, number>();
  readonly #settings: FairQueueSettings;

  constructor(settings: FairQueueSettings) {
    this.#settings = settings;
  }

  /** The run waits for a slot from now on. */
  add(run: KnownRun): void {
    const place = this.#placeFor(run);
    const { deployment, usage } = place;
    const line = deployment.lines.get(run.line) ?? usage.lineOf(run);
    deployment.lines.set(run.line, line);
    usage.add(run, line);
    this.#change(run, place, { waiting: 1 });
  }

  /** The run does not wait any more. */
  remove(run: KnownRun): void {
    const place = this.#placeOf(run);
    if (place && takeOut(place, run)) this.#change(run, place, { waiting: -1 });
  }

  /** A waiting run gets a slot because it is next. */
  start(run: KnownRun): void {
    const place = this.#placeFor(run);
    const waiting = takeOut(place, run) ? -1 : 0;
    this.#hold(run, place, 1);
    this.#change(run, place, { waiting, slots: 1, isServed: true });
  }

  /** The run holds a slot, as the log says. */
  hold(run: KnownRun): void {
    const place = this.#placeFor(run);
    this.#hold(run, place, 1);
    this.#change(run, place, { slots: 1 });
  }

  release(run: KnownRun): void {
    const place = this.#placeOf(run);
    if (!place) return;
    this.#hold(run, place, -1);
    this.#change(run, place, { slots: -1 });
  }

  /** The next run of this GPU model, of those that the executor can serve and that are within their limits. */
  firstFor(gpu: GpuModel, capabilities: Capabilities): KnownRun | undefined {
    const pool = this.#pools.get(gpu);
    return pool?.first(({ org_id, deployments }) =>
      this.#slotsLeft(org_id) > 0
        ? deployments.first((deployment) => this.#headFor(deployment, capabilities))
        : undefined,
    );
  }

  /** The limit that keeps the run from a slot now. */
  limitFor(run: KnownRun): Limit | undefined {
    if (this.#slotsLeft(run.requirements.org_id) <= 0) return 'organisation_limit';
    return this.#usages.get(usageKey(run))?.limitFor(run);
  }

  /** The most slots that its organisation or deployment may hold; for a concurrency key one. */
  mostSlotsOf({ requirements, run: { request } }: KnownRun): number {
    if (request.concurrency_key !== undefined) return 1;
    return Math.min(this.#settings.shareOf(requirements.org_id).limit, request.concurrency_limit ?? Infinity);
  }

  /** Runs that may be within their limits because this run has left its slot: the first of each kind. */
  nextAfter(run: KnownRun): KnownRun[] {
    const ofDeployment = this.#usages.get(usageKey(run))?.nextAfter(run) ?? [];
    const { org_id } = run.requirements;
    if (this.#slotsLeft(org_id) !== 1) return ofDeployment;
    // It was at its limit.
    const deployments = [...this.#pools.values()].flatMap((pool) => [
      ...(pool.get(org_id)?.deployments.flows() ?? []),
    ]);
    const lines = deployments.flatMap((deployment) => [...deployment.lines.values()]);
    return [...ofDeployment, ...lines.flatMap((line) => line.usage.nextOf(line) ?? [])];
  }

  /**
   * About how many runs of its GPU model start before this one, if all who wait are served by weight from now on. Only runs count that
   * compete for the same executors: those of the capabilities that fit this run (`able`). Without such an executor all of them count.
   */
  aheadOf(run: KnownRun, able: readonly Capabilities[]): Ahead {
    const place = this.#placeOf(run);
    if (!place) return { ahead: 0, own: 0, undecided: 0 };
    const { pool, organisation, deployment } = place;
    const competes = ({ requirements }: Line): boolean =>
      able.length === 0 || able.some((capabilities) => canServe(capabilities, requirements));
    const own = sum(linesOf(deployment, competes), ({ runs }) =>
      runs.countWhile((other) => this.#isBefore(other, run)),
    );
    let undecided = 0;
    const before = (waiting: number, ordinal: number, flow: Flow, other: Flow): number => {
      const served = servedBefore(ordinal, flow, other, waiting);
      if (served < waiting) undecided += 1;
      return served;
    };
    const ofDeployments = sum(organisation.deployments.flows(), (other) =>
      other === deployment ? 0 : before(lengthOf(other, competes), own + 1, deployment, other),
    );
    const inOrganisation = own + ofDeployments;
    const ofOrganisations = sum(pool.flows(), (other) => {
      if (other === organisation) return 0;
      const waiting = sum(other.deployments.flows(), (one) => lengthOf(one, competes));
      return before(waiting, inOrganisation + 1, organisation, other);
    });
    return { ahead: inOrganisation + ofOrganisations, own, undecided };
  }

  /** Who shares the slots of each GPU model. */
  pools(): ReadonlyMap<GpuModel, FairShare<Organisation>> {
    return this.#pools;
  }

  /** By GPU model: how many runs wait, and which has waited longest. */
  *lengths(): Generator<{ gpu: GpuModel; length: number; oldest: KnownRun }> {
    for (const [gpu, pool] of this.#pools) {
      let oldest: KnownRun | undefined;
      let length = 0;
      for (const { deployments, waiting } of pool.flows()) {
        length += waiting;
        for (const deployment of deployments.flows()) oldest = older(oldest, oldestOf(deployment));
      }
      if (oldest) yield { gpu, length, oldest };
    }
  }

  /** The next run of the deployment, of those that the executor can serve and that are within their limits. */
  #headFor({ lines }: Deployment, capabilities: Capabilities): KnownRun | undefined {
    let next: KnownRun | undefined;
    for (const line of lines.values()) {
      const head = line.usage.nextOf(line);
      if (!head || (next && this.#isBefore(next, head))) continue;
      if (canServe(capabilities, line.requirements)) next = head;
    }
    return next;
  }

  /** Of one deployment. */
  #isBefore(one: KnownRun, other: KnownRun): boolean {
    const headStartS = PRIORITY_STEP_S * (priorityOf(one) - priorityOf(other));
    if (headStartS === 0) return numberOf(one) < numberOf(other);
    const { instantOf } = this.#settings;
    const earlierMs = instantOf(other.run.created_at) - instantOf(one.run.created_at) + headStartS * 1_000;
    return earlierMs > 0 || (earlierMs === 0 && numberOf(one) < numberOf(other));
  }

  #placeOf(run: KnownRun): Place | undefined {
    const { gpu, org_id } = run.requirements;
    const pool = this.#pools.get(gpu);
    const organisation = pool?.get(org_id);
    const deployment = organisation?.deployments.get(deploymentOf(run));
    const usage = this.#usages.get(usageKey(run));
    return pool && organisation && deployment && usage && { pool, organisation, deployment, usage };
  }

  #placeFor(run: KnownRun): Place {
    const { gpu, org_id } = run.requirements;
    const pool = this.#pools.get(gpu) ?? new FairShare();
    this.#pools.set(gpu, pool);
    const organisation = pool.get(org_id) ?? {
      org_id,
      ...newFlow(org_id, this.#settings.shareOf(org_id).weight),
      deployments: new FairShare(),
    };
    pool.add(organisation);
    const deployment = organisation.deployments.get(deploymentOf(run)) ?? {
      ...newFlow(deploymentOf(run), weightOf(run)),
      lines: new Map(),
      newest: 0,
      requirements: run.requirements,
    };
    organisation.deployments.add(deployment);
    const usage = this.#usages.get(usageKey(run)) ?? new Usage();
    this.#usages.set(usageKey(run), usage);
    return { pool, organisation, deployment, usage };
  }

  #slotsLeft(org_id: OrgId): number {
    return this.#settings.shareOf(org_id).limit - (this.#slots.get(org_id) ?? 0);
  }

  #hold(run: KnownRun, { usage }: Place, slots: 1 | -1): void {
    const { org_id } = run.requirements;
    usage.hold(run, slots);
    const after = (this.#slots.get(org_id) ?? 0) + slots;
    if (after > 0) this.#slots.set(org_id, after);
    else this.#slots.delete(org_id);
  }

  #change(run: KnownRun, { pool, organisation, deployment, usage }: Place, by: FlowChange): void {
    if (usage.isIdle) this.#usages.delete(usageKey(run));
    const isNewest = numberOf(run) >= deployment.newest;
    if (isNewest) {
      deployment.newest = numberOf(run);
      deployment.requirements = run.requirements;
    }
    organisation.deployments.change(deployment, isNewest ? { ...by, weight: weightOf(run) } : by);
    pool.change(organisation, by);
    if (pool.size === 0) this.#pools.delete(run.requirements.gpu);
  }
}

/** The run that has waited longest. It costs nothing for each run. */
export const oldestOf = ({ lines }: Deployment): KnownRun | undefined =>
  lines.values().reduce<KnownRun | undefined>((oldest, { runs }) => older(oldest, runs.first()), undefined);

export const older = (one: KnownRun | undefined, other: KnownRun | undefined): KnownRun | undefined =>
  one && (!other || numberOf(one) < numberOf(other)) ? one : other;

const deploymentOf = ({ run }: KnownRun): string => run.request.deployment_id;

const priorityOf = ({ run }: KnownRun): number => run.request.priority ?? 0;

const weightOf = ({ run }: KnownRun): number => run.request.weight ?? 1;

const usageKey = (run: KnownRun): string => `${run.requirements.org_id}/${deploymentOf(run)}`;

/** Whether the run waited. */
const takeOut = ({ deployment: { lines }, usage }: Place, run: KnownRun): boolean => {
  const line = lines.get(run.line);
  if (!line || !usage.remove(run, line)) return false;
  if (line.runs.size === 0) lines.delete(run.line);
  return true;
};

const linesOf = ({ lines }: Deployment, competes: (line: Line) => boolean): IteratorObject<Line> =>
  lines.values().filter(competes);

const lengthOf = (deployment: Deployment, competes: (line: Line) => boolean): number =>
  sum(linesOf(deployment, competes), ({ runs }) => runs.size);

const sum = <Of>(items: IteratorObject<Of>, count: (item: Of) => number): number =>
  items.reduce((total, item) => total + count(item), 0);
