import { PRIORITY_STEP_S } from '@runledger/contracts/run-options';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { OrgId } from '@runledger/contracts/ids';
import type { Limit } from '@runledger/contracts/requests/queue-position';
import { canServe, requirementsOn, type Capabilities, type Requirements } from '../requirements.ts';
import {
  FairShare,
  servedBefore,
  type FlowChange,
  type Deployment,
  type Organisation,
  type Place,
} from './fair-share.ts';
import { newFlow, type Flow } from './flow-heap.ts';
import { type KnownRun, type Row, type WaitingRun, requestWithKey, type SharedRequest } from './known-run.ts';
import type { RunTable } from './run-table.ts';
import { newOrgUsage, Usage, type HoldOut, type OrgUsage } from './usage.ts';

/** Who starts before a waiting run, as an estimate. */
export interface Ahead {
  readonly ahead: number;
  /** How many others have a run that starts just before it or just after it. */
  readonly undecided: number;
  readonly ofOrganisation: { readonly ahead: number; readonly undecided: number };
  /** Those of its own deployment. */
  readonly own: number;
  /** Those of its own deployment and concurrency key. */
  readonly ofKey: number;
}

const NOBODY: Ahead = {
  ahead: 0,
  undecided: 0,
  ofOrganisation: { ahead: 0, undecided: 0 },
  own: 0,
  ofKey: 0,
};

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
}

/** Whether runs that hold out take the slot. */
export type TakesSlot = (holdOut: HoldOut, head: Row) => boolean;

/**
 * Queued runs, and which is next: the slots of a GPU model are shared between organisations, those of an organisation between its
 * deployments, and the runs of a deployment start in the order in which they were queued, with a head start for their priority. A
 * requeued run is in front of its deployment again. A run that no executor can take, or that a limit holds back, blocks no other.
 */
export class FairQueue {
  readonly #pools = new Map<GpuModel, FairShare<Organisation>>();
  readonly #usages = new Map<OrgId, OrgUsage>();
  /** By version. */
  readonly #holdingOut = new Map<string, Set<Place>>();
  readonly #table: RunTable;
  readonly #settings: FairQueueSettings;

  constructor(table: RunTable, settings: FairQueueSettings) {
    this.#table = table;
    this.#settings = settings;
  }

  /** The run waits for such a slot from now on, also when it waits for slots of other GPU models already. */
  add(run: WaitingRun, requirements: Requirements, holdsOut: boolean): void {
    const place = this.#enter(run, requirements, { holdsOut, others: this.#placesOf(run) });
    this.#table.setPlace(run.row, place);
    this.#putIn(run, place);
  }

  /** Where runs with this request wait that hold out for nothing. They are added next. */
  enter(shared: SharedRequest): Place {
    const place = this.#enter(alike(shared, 0), shared.requirements);
    place.deployment.places.set(place.name, place);
    return place;
  }

  /** Many of these runs, in the order of their numbers. The table says their place already. */
  addAll(rows: readonly Row[], shared: SharedRequest, place: Place): void {
    const newest = rows.at(-1);
    if (newest === undefined) return;
    place.usage.addAll(rows, place);
    this.#change(alike(shared, this.#table.numberOf(newest)), place, { waiting: rows.length });
  }

  /** A run that held out for a warm slot takes any one from now on. Its deployment and organisation keep their turns. */
  endHoldOut(run: KnownRun): void {
    const before = this.#placesOf(run);
    if (!this.#takeOut(run, before)) return;
    this.#table.setPlace(run.row, undefined);
    for (const { requirements } of before) this.add(run, requirements, false);
    for (const place of before) this.#change(run, place, { waiting: -1 });
  }

  /** Whether it leaves slots to others that do not have its version loaded. */
  holdsOut(run: KnownRun): boolean {
    return this.#placesOf(run).some(({ holdOut }) => holdOut !== null);
  }

  /** The first runs of those that hold out for slots with this version. */
  nextHoldingOut(version: string): Row[] {
    return [...(this.#holdingOut.get(version) ?? [])].flatMap((place) => place.usage.nextOf(place) ?? []);
  }

  #putIn(run: WaitingRun, place: Place): void {
    const { deployment, usage, name, holdOut } = place;
    usage.add(run, place);
    deployment.places.set(name, place);
    if (holdOut) {
      const { version } = holdOut;
      this.#holdingOut.set(version, (this.#holdingOut.get(version) ?? new Set()).add(place));
    }
    this.#change(run, place, { waiting: 1 });
  }

  /** The run does not wait any more. */
  remove(run: KnownRun): void {
    const places = this.#placesOf(run);
    if (this.#takeOut(run, places)) for (const place of places) this.#change(run, place, { waiting: -1 });
    this.#table.setPlace(run.row, undefined);
  }

  /** Whether it waits or holds a slot. */
  isIn({ row }: WaitingRun): boolean {
    return this.#table.placeOf(row) !== undefined;
  }

  /** What a waiting run requires of a slot, in order: one for each GPU model that it waits for. */
  waitsFor(run: KnownRun): Requirements[] {
    return this.#placesOf(run).map(({ requirements }) => requirements);
  }

  /** A waiting run gets a slot of this model because it is next. */
  start(run: KnownRun, gpu: GpuModel): void {
    const places = this.#placesOf(run);
    const place = places.find(({ requirements }) => requirements.gpu === gpu);
    if (!place || !this.#takeOut(run, places)) return;
    // First, so that what its deployment holds is not forgotten in between.
    place.usage.hold(run, 1);
    this.#table.setPlace(run.row, place);
    for (const other of places) if (other !== place) this.#change(run, other, { waiting: -1 });
    this.#change(run, place, { waiting: -1, slots: 1, isServed: true });
  }

  /** The run holds a slot, as the log says. */
  hold(run: KnownRun, gpu: GpuModel): void {
    const place = this.#enter(run, requirementsOn(run.requirements, gpu));
    this.#table.setPlace(run.row, place);
    place.usage.hold(run, 1);
    this.#change(run, place, { slots: 1 });
  }

  /** `head` is that of the fact by which it leaves its slot, if there is one. */
  release(run: KnownRun, head?: number): void {
    const place = this.#table.placeOf(run.row);
    if (!place) return;
    if (head !== undefined) place.usage.rememberLimits(run, head);
    place.usage.hold(run, -1);
    this.#change(run, place, { slots: -1 });
    this.#table.setPlace(run.row, undefined);
  }

  /** The next run of this GPU model, of those that the executor can serve and that are within their limits. */
  firstFor(gpu: GpuModel, capabilities: Capabilities, takes: TakesSlot): Row | undefined {
    const pool = this.#pools.get(gpu);
    const headOf = (deployment: Deployment): Row | undefined =>
      this.#headFor(deployment, capabilities, takes);
    return pool?.first(({ usage, deployments }) =>
      usage.slots < usage.limit ? deployments.first(headOf) : undefined,
    );
  }

  /** The limit that keeps the run from a slot now. */
  limitFor(run: KnownRun): Limit | undefined {
    const usage = this.#usages.get(run.requirements.org_id);
    if (!usage) return undefined;
    if (usage.slots >= usage.limit) return 'organisation_limit';
    return usage.deployments.get(deploymentOf(run))?.limitFor(run);
  }

  /** The limit that kept a waiting run from a slot last, as far as known. */
  lastLimitOf(run: KnownRun): Limit | undefined {
    return this.#table.placeOf(run.row)?.usage.lastLimitOf(run);
  }

  /** Runs that may be within their limits because this run has left its slot: the first of each kind. */
  nextAfter(run: KnownRun): Row[] {
    const { org_id } = run.requirements;
    const usage = this.#usages.get(org_id);
    if (!usage) return [];
    const ofDeployment = usage.deployments.get(deploymentOf(run))?.nextAfter(run) ?? [];
    if (usage.limit - usage.slots !== 1) return ofDeployment;
    // It was at its limit.
    const deployments = [...this.#pools.values()].flatMap((pool) => [
      ...(pool.get(org_id)?.deployments.flows() ?? []),
    ]);
    const places = deployments.flatMap((deployment) => [...deployment.places.values()]);
    return [...ofDeployment, ...places.flatMap((place) => place.usage.nextOf(place) ?? [])];
  }

  /**
   * About how many runs of its GPU model start before this one, if all who wait are served by weight from now on: of several models the
   * one where the fewest do. Only runs count that compete for the same executors: those of the capabilities that fit this run
   * (`ableTo`). Without such an executor all of them count.
   */
  aheadOf(run: KnownRun, ableTo: (requirements: Requirements) => readonly Capabilities[]): Ahead {
    const all = this.#placesOf(run).map((place) => ({ place, able: ableTo(place.requirements) }));
    const withExecutor = all.filter(({ able }) => able.length > 0);
    const counted = withExecutor.length > 0 ? withExecutor : all;
    const [first, ...others] = counted.map(({ place, able }) => this.#aheadAt(run, place, able));
    if (!first) return NOBODY;
    return others.reduce((fewest, one) => (one.ahead < fewest.ahead ? one : fewest), first);
  }

  #aheadAt(run: KnownRun, place: Place, able: readonly Capabilities[]): Ahead {
    const { pool, organisation, deployment } = place;
    const competes = ({ requirements }: Place): boolean =>
      able.length === 0 || able.some((capabilities) => canServe(capabilities, requirements));
    const isBefore = (other: Row): boolean => this.#isBefore(other, run.row);
    const own = sum(placesIn(deployment, competes), ({ runs }) => runs.countWhile(isBefore));
    const ofKey = sum(placesIn(deployment, competes), (other) =>
      other.usage.countOfKey(run, other, isBefore),
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
    const ofOrganisation = { ahead: own + ofDeployments, undecided };
    const ofOrganisations = sum(pool.flows(), (other) => {
      if (other === organisation) return 0;
      const waiting = sum(other.deployments.flows(), (one) => lengthOf(one, competes));
      return before(waiting, ofOrganisation.ahead + 1, organisation, other);
    });
    return { ahead: ofOrganisation.ahead + ofOrganisations, undecided, ofOrganisation, own, ofKey };
  }

  /** Who shares the slots of each GPU model. */
  pools(): ReadonlyMap<GpuModel, FairShare<Organisation>> {
    return this.#pools;
  }

  /** By GPU model, also when a run waits for several: how many runs wait, and which has waited longest. */
  *lengths(): Generator<{ gpu: GpuModel; length: number; oldest: Row }> {
    for (const [gpu, pool] of this.#pools) {
      const organisations = [...pool.flows()];
      const length = organisations.reduce((sum, { waiting }) => sum + waiting, 0);
      const oldest = this.oldestOf(organisations.flatMap(({ deployments }) => [...deployments.flows()]));
      if (oldest !== undefined) yield { gpu, length, oldest };
    }
  }

  /** Of these, the run that has waited longest. It costs nothing for each run. */
  oldestOf(deployments: Iterable<Deployment>): Row | undefined {
    let oldest: Row | undefined;
    for (const { places } of deployments) {
      for (const { runs } of places.values()) {
        const first = runs.first();
        if (first === undefined) continue;
        if (oldest === undefined || this.#table.numberOf(first) < this.#table.numberOf(oldest))
          oldest = first;
      }
    }
    return oldest;
  }

  /** The next run of the deployment, of those that the executor can serve and that are within their limits. */
  #headFor({ places }: Deployment, capabilities: Capabilities, takes: TakesSlot): Row | undefined {
    let next: Row | undefined;
    for (const place of places.values()) {
      const { usage, requirements, holdOut } = place;
      const head = usage.nextOf(place);
      if (head === undefined || (next !== undefined && this.#isBefore(next, head))) continue;
      if (!canServe(capabilities, requirements)) continue;
      if (holdOut === null || takes(holdOut, head)) next = head;
    }
    return next;
  }

  /** Of one deployment. */
  #isBefore(one: Row, other: Row): boolean {
    const table = this.#table;
    const headStartS =
      PRIORITY_STEP_S * (priorityOf(table.sharedOf(one)) - priorityOf(table.sharedOf(other)));
    const isFirst = table.numberOf(one) < table.numberOf(other);
    if (headStartS === 0) return isFirst;
    const earlierMs = table.createdMsOf(other) - table.createdMsOf(one) + headStartS * 1_000;
    return earlierMs > 0 || (earlierMs === 0 && isFirst);
  }

  /** Out of all lines in which it waits. Whether it waited. */
  #takeOut(run: KnownRun, places: readonly Place[]): boolean {
    const [first] = places;
    if (!first?.usage.remove(run, places)) return false;
    for (const place of places) if (place.runs.size === 0) this.#close(place);
    return true;
  }

  #close(place: Place): void {
    const { deployment, name, holdOut } = place;
    deployment.places.delete(name);
    if (!holdOut) return;
    const { version } = holdOut;
    this.#holdingOut.get(version)?.delete(place);
    if (this.#holdingOut.get(version)?.size === 0) this.#holdingOut.delete(version);
  }

  /** In order. */
  #placesOf(run: WaitingRun): readonly Place[] {
    return this.#table.placeOf(run.row)?.all ?? NOWHERE;
  }

  #enter(
    run: WaitingRun,
    requirements: Requirements,
    { holdsOut, others }: { readonly holdsOut: boolean; readonly others: readonly Place[] } = ALONE,
  ): Place {
    const { gpu, org_id } = requirements;
    const org = this.#usages.get(org_id) ?? newOrgUsage(this.#settings.shareOf(org_id).limit);
    this.#usages.set(org_id, org);
    const usage = org.deployments.get(deploymentOf(run)) ?? new Usage(org, this.#table);
    org.deployments.set(deploymentOf(run), usage);
    const pool = this.#pools.get(gpu) ?? new FairShare();
    this.#pools.set(gpu, pool);
    const organisation = pool.get(org_id) ?? {
      org_id,
      ...newFlow(org_id, this.#settings.shareOf(org_id).weight),
      usage: org,
      deployments: new FairShare(),
    };
    organisation.usage = org;
    pool.add(organisation);
    const deployment = organisation.deployments.get(deploymentOf(run)) ?? {
      ...newFlow(deploymentOf(run), weightOf(run)),
      places: new Map(),
      newest: 0,
      requirements,
    };
    organisation.deployments.add(deployment);
    const holdOut = holdsOut ? holdOutOf(run, requirements) : null;
    const name = holdOut ? `${run.shared.line} ${holdOut.version}` : run.shared.line;
    const known = deployment.places.get(name);
    if (known) return known;
    const all: Place[] = [...others];
    const together = others.findLast(
      (other) => waitOf(run, other.requirements) === waitOf(run, requirements),
    );
    const line = usage.newLine(run, { name, requirements, holdOut }, together);
    const place = { ...line, all, pool, organisation, deployment };
    all.push(place);
    return place;
  }

  #change(run: WaitingRun, place: Place, by: FlowChange): void {
    const { pool, organisation, deployment, usage, requirements } = place;
    if (usage.isIdle) usage.organisation.deployments.delete(deployment.name);
    if (usage.organisation.deployments.size === 0) this.#usages.delete(organisation.org_id);
    const { number } = run.run;
    const isNewest = number >= deployment.newest;
    if (isNewest) {
      deployment.newest = number;
      deployment.requirements = requirements;
    }
    const weight = isNewest ? weightOf(run) : deployment.weight;
    organisation.deployments.change(deployment, weight === deployment.weight ? by : { ...by, weight });
    pool.change(organisation, by);
    if (pool.size === 0) this.#pools.delete(requirements.gpu);
  }
}

const NOWHERE: readonly Place[] = [];
/** For slots of one GPU model, warm or not. */
const ALONE = { holdsOut: false, others: NOWHERE };

/** A run that has this request, and some concurrency key when all of them have one. */
const alike = (shared: SharedRequest, number: number): WaitingRun => {
  const request = requestWithKey(shared, shared.hasKey ? '' : undefined);
  return { row: -1, shared, requirements: shared.requirements, run: { number, request } };
};

const deploymentOf = ({ run }: WaitingRun): string => run.request.deployment_id;

const priorityOf = ({ request }: SharedRequest): number => request.priority ?? 0;

const weightOf = ({ run }: WaitingRun): number => run.request.weight ?? 1;

/** Seconds that it waits before it may take such a slot. */
const waitOf = ({ requirements: first }: WaitingRun, { gpu }: Requirements): number =>
  first.later.find((one) => one.requirements.gpu === gpu)?.after_s ?? 0;

/** Those models count that it may take from the beginning, and that of the slot. */
const holdOutOf = ({ run, requirements: first }: WaitingRun, requirements: Requirements): HoldOut => {
  const early = first.later.flatMap((one) => (one.after_s === 0 ? [one.requirements] : []));
  const on = [...new Set([first, ...early, requirements])];
  return { version: run.request.workflow_version_id, on };
};

const placesIn = ({ places }: Deployment, competes: (place: Place) => boolean): IteratorObject<Place> =>
  places.values().filter(competes);

const lengthOf = (deployment: Deployment, competes: (place: Place) => boolean): number =>
  sum(placesIn(deployment, competes), ({ runs }) => runs.size);

const sum = <Of>(items: IteratorObject<Of>, count: (item: Of) => number): number =>
  items.reduce((total, item) => total + count(item), 0);
